// Batches of rows that differ in length: what a loader delivers of them.

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "pipeline/engine/graph/graph.h"
#include "sampling/core/registry.h"
#include "sampling/core/text.h"
#include "sampling/field_text.h"
#include "sampling/plans/packed_sampler.h"
#include "sampling/transform.h"

using namespace flowtrain;

namespace {

/// Texts of drawn lengths, of which some are damaged; text i is made of the letter 'a' + i % 26.
class Texts : public Dataset {
 public:
  explicit Texts(std::uint64_t size, std::uint64_t damaged_every = 0) : size_(size), damaged_every_(damaged_every) {
    for (std::uint64_t id = 0; id < size; ++id) {
      Stream random(3, Purpose::init, id);
      const double drawn = std::exp(2.5 + 0.8 * random.normal());
      lengths_.push_back(static_cast<std::uint32_t>(std::min(drawn, 200.0)));
    }
  }
  std::uint64_t size() const override { return size_; }
  std::int64_t label(std::uint64_t id) const override { return static_cast<std::int64_t>(id % 3); }
  std::vector<std::string> classes() const override { return {"0", "1", "2"}; }
  std::string describe(std::uint64_t id) const override { return concat("text ", id); }
  bool resident() const override { return true; }
  std::vector<PartForm> parts() const override { return {{"txt", Encoding::text}}; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    if (is_damaged(id)) throw SampleError("it is damaged");
    buffer.bytes.assign(lengths_[id], static_cast<std::byte>('a' + id % 26));
    buffer.parts.assign({{.name = "txt", .encoding = Encoding::text, .bytes = buffer.bytes}});
    return {.id = id, .label = label(id), .parts = buffer.parts};
  }
  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override {
    buffer.shapes.assign({lengths_[id]});
    buffer.parts.assign({{.name = "txt", .encoding = Encoding::text, .shape = buffer.shapes}});
    record = {.id = id, .label = label(id), .parts = buffer.parts};
    return true;
  }
  bool is_damaged(std::uint64_t id) const { return damaged_every_ > 0 && id % damaged_every_ == 1; }
  std::uint32_t length(std::uint64_t id) const { return lengths_[id]; }

 private:
  std::uint64_t size_, damaged_every_;
  std::vector<std::uint32_t> lengths_;
};

Settings field(const std::string& name, const std::string& as, const std::map<std::string, Value>& values) {
  std::vector<Key> keys{{"name", Kind::text, "", ""}, {"from", Kind::text, "", ""}, {"as", Kind::text, "", ""}};
  for (auto& key : transforms().at(as).keys) keys.push_back(key);
  Settings settings("field.0", keys);
  settings.set("name", name, {});
  settings.set("as", as, {});
  for (auto& [key, value] : values) settings.set(key, value, {});
  return settings;
}

enum class Form { padded, bucketed, packed };

/// A loader's parts of texts in some form.
struct Line {
  explicit Line(Form form, std::uint64_t size = 500, std::uint64_t damaged_every = 0) : dataset(size, damaged_every) {
    fields.push_back(
        field("bytes", "bytes", {{"from", "txt"}, {"max", std::int64_t{128}}, {"fill", std::int64_t{255}}}));
    if (form != Form::packed) fields.push_back(field("label", "label", {}));
    const auto& entry = samplers().at("fields");
    sampler = entry.make(Settings("sampler", entry.keys), {.dataset = dataset, .fields = fields});
    plan = std::make_unique<ShapePlan>(measure(dataset, *sampler, {}));
    const auto& shuffle = orders().at("shuffle");
    order = shuffle.make(Settings("order", shuffle.keys), {dataset, 5});
    if (form == Form::bucketed) {
      plan->bucketed =
          std::make_unique<BucketedBatches>(plan->lengths.axis(), BucketedOptions{.budget = 600, .seed = 5});
      batch = static_cast<std::uint32_t>(plan->bucketed->most_rows());
      batches = Batches(plan->bucketed->batches(), 1, LastBatch::wrap);
    } else if (form == Form::packed) {
      sampler = with_packed_rows(std::move(sampler));
      plan->packed = std::make_unique<PackedRows>(plan->lengths.axis(), PackedOptions{.row_length = 128, .seed = 5});
      plan->most_pieces = plan->packed->most_pieces();
      batches = Batches(plan->packed->rows(), batch, LastBatch::pad);
    } else {
      batches = Batches(size, batch, LastBatch::pad);
    }
  }

  LoaderParts parts(std::uint64_t first, std::uint64_t last, unsigned workers = 2, Slice slice = {}) const {
    LoaderParts parts{"test", dataset, *order, *sampler, *device, batches};
    parts.seed = 42;
    parts.batch = static_cast<std::uint32_t>(slice.most(batch));
    parts.shape = {workers, 1, 3};
    parts.iterations.first = first, parts.iterations.last = last;
    parts.slice = slice;
    parts.plan = plan.get();
    return parts;
  }

  Texts dataset;
  std::vector<Settings> fields;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<ShapePlan> plan;
  std::unique_ptr<Order> order;
  std::unique_ptr<Device> device = make_cpu_device();
  std::uint32_t batch = 16;
  Batches batches{1, 1, LastBatch::pad};
};

/// A record as it was delivered.
struct Delivered {
  std::uint64_t id;
  std::string bytes;  ///< its part of all fields
  bool operator==(const Delivered&) const = default;
};
using DeliveredBatches = std::vector<std::vector<Delivered>>;  // by batches

void append(const Slab& slab, std::vector<Delivered>& to) {
  if (slab.error()) std::rethrow_exception(slab.error());
  if (slab.share() == 0) return;  // the row of a process that has none
  for (auto& row : slab.rows()) {
    Delivered one{row.id, {}};
    for (std::size_t i = 0; i < slab.layout().fields().size(); ++i) {
      const auto bytes = slab.bytes_of(row, i);
      one.bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    to.push_back(std::move(one));
  }
}

/// Returns what all processes of a world deliver together, batch by batch.
DeliveredBatches deliver(const Line& line, std::uint64_t first, std::uint64_t last, unsigned workers = 2,
                         std::uint64_t world = 1) {
  DeliveredBatches all(last - first + 1);
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    Loader loader(line.parts(first, last, workers, {rank, world}));
    loader.start();
    std::size_t batch = 0;
    for (Ticket ticket; loader.next(ticket); loader.release(ticket)) append(loader.slab(ticket), all[batch++]);
    loader.check_finished();
  }
  return all;
}

}  // namespace

TEST_CASE("rows of any form are the same at any number of workers and processes, and from any batch on") {
  const Scheduler scheduler(8);
  for (const Form form : {Form::padded, Form::bucketed, Form::packed}) {
    CAPTURE(static_cast<int>(form));
    const Line line(form);
    const std::uint64_t last = line.batches.per_epoch() * 2;
    const auto expected = deliver(line, 1, last);
    for (const unsigned workers : {1u, 4u}) CHECK(deliver(line, 1, last, workers) == expected);
    for (const std::uint64_t world : {2, 3, 7}) CHECK(deliver(line, 1, last, 2, world) == expected);
    for (const std::uint64_t first : {std::uint64_t{2}, last / 2, last})
      CHECK(deliver(line, first, last) ==
            DeliveredBatches(expected.begin() + static_cast<std::ptrdiff_t>(first) - 1, expected.end()));
  }
}

TEST_CASE("an epoch of rows of any form has each record once, and the next one another order") {
  const Scheduler scheduler(8);
  for (const Form form : {Form::padded, Form::bucketed, Form::packed}) {
    CAPTURE(static_cast<int>(form));
    const Line line(form);
    const std::uint64_t epoch = line.batches.per_epoch();
    const auto all = deliver(line, 1, 2 * epoch);
    std::vector<std::vector<std::uint64_t>> order(2);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (auto& record : all[i]) order[i / epoch].push_back(record.id);
    CHECK(order[0] != order[1]);
    for (auto& ids : order) CHECK(std::set(ids.begin(), ids.end()).size() == line.dataset.size());
    for (auto& ids : order) CHECK(ids.size() == line.dataset.size());
  }
}

TEST_CASE("a padded batch is as long as its longest row, states the lengths, and is filled beyond them") {
  const Scheduler scheduler(4);
  for (const Form form : {Form::padded, Form::bucketed}) {
    const Line line(form);
    Loader loader(line.parts(1, line.batches.per_epoch()));
    loader.start();
    for (Ticket ticket; loader.next(ticket); loader.release(ticket)) {
      const Slab& slab = loader.slab(ticket);
      const auto extent = static_cast<std::size_t>(slab.extents()[0]);
      std::size_t longest = 1;
      for (auto& row : slab.rows()) {
        const std::size_t length = std::min(line.dataset.length(row.id), 128u);
        longest = std::max(longest, length);
        const auto bytes = slab.bytes_of(row, 0);
        REQUIRE(bytes.size() == extent);
        for (std::size_t i = 0; i < extent; ++i)
          CHECK(std::to_integer<int>(bytes[i]) == (i < length ? 'a' + static_cast<int>(row.id % 26) : 255));
        std::int64_t stated[2];
        for (std::size_t field : {1, 2}) std::memcpy(&stated[field - 1], slab.bytes_of(row, field).data(), 8);
        CHECK(stated[0] == line.dataset.label(row.id));
        CHECK(stated[1] == static_cast<std::int64_t>(length));
      }
      CHECK(extent == longest);
      if (form == Form::bucketed) CHECK(extent * slab.row_count() <= 600);
      CHECK(slab.bytes() <= slab.layout().bytes());
    }
  }
}

TEST_CASE("packed rows hold whole records, and say where each begins") {
  const Scheduler scheduler(4);
  const Line line(Form::packed);
  CHECK(describe_fields(line.sampler->fields()) == "bytes u8 128, position i32 128, segment i32 128");
  Loader loader(line.parts(1, line.batches.per_epoch()));
  loader.start();
  for (Ticket ticket; loader.next(ticket); loader.release(ticket)) {
    const Slab& slab = loader.slab(ticket);
    std::vector<std::uint32_t> filled(slab.row_count());
    std::vector<std::int32_t> records(slab.row_count());
    for (auto& record : slab.rows()) {
      const std::uint32_t length = std::min(line.dataset.length(record.id), 128u);
      CHECK(record.place.begin == filled[record.place.row]);
      CHECK(record.place.segment == ++records[record.place.row]);
      filled[record.place.row] += record.place.extent;
      const auto bytes = slab.bytes_of(record, 0);
      std::vector<std::int32_t> position(record.place.extent), segment(record.place.extent);
      std::memcpy(position.data(), slab.bytes_of(record, 1).data(), slab.bytes_of(record, 1).size());
      std::memcpy(segment.data(), slab.bytes_of(record, 2).data(), slab.bytes_of(record, 2).size());
      REQUIRE(bytes.size() == record.place.extent);
      REQUIRE(length <= record.place.extent);
      for (std::uint32_t i = 0; i < record.place.extent; ++i) {
        const bool own = i < length;
        CHECK(std::to_integer<int>(bytes[i]) == (own ? 'a' + static_cast<int>(record.id % 26) : 255));
        CHECK(position[i] == (own ? static_cast<std::int32_t>(i) : 0));
        CHECK(segment[i] == (own ? record.place.segment : 0));
      }
    }
    for (const auto each : filled) CHECK(each == 128);
  }
}

TEST_CASE("a damaged record of any form is replaced, by the same one at any number of workers and processes") {
  const Scheduler scheduler(8);
  for (const Form form : {Form::padded, Form::bucketed, Form::packed}) {
    CAPTURE(static_cast<int>(form));
    const Line line(form, 300, 7);
    const auto expected = deliver(line, 1, line.batches.per_epoch());
    for (auto& batch : expected)
      for (auto& record : batch) CHECK_FALSE(line.dataset.is_damaged(record.id));
    CHECK(deliver(line, 1, line.batches.per_epoch(), 4) == expected);
    CHECK(deliver(line, 1, line.batches.per_epoch(), 1, 3) == expected);
  }
}

namespace {

/// Compares a line of drawn settings, in pieces and with processes and threads of drawn numbers, with one thread's.
void check_drawn(std::uint64_t draw) {
  CAPTURE(draw);
  Stream random(17, Purpose::init, draw);
  const auto form = static_cast<Form>(random.below(3));
  const std::uint64_t size = 1 + random.below(200), damaged_every = random.below(3) == 0 ? 2 + random.below(20) : 0;
  if (size == 2 && damaged_every > 0) return;  // half of the records are damaged, and 16 attempts may not find another
  const Line line(form, size, damaged_every);
  const std::uint64_t last = 1 + random.below(2 * line.batches.per_epoch());
  const auto expected = deliver(line, 1, last, 1);
  const std::uint64_t world = 1 + random.below(4), first = 1 + random.below(last);
  const auto piece = deliver(line, first, last, 1 + static_cast<unsigned>(random.below(4)), world);
  CHECK(piece == DeliveredBatches(expected.begin() + static_cast<std::ptrdiff_t>(first) - 1, expected.end()));
}

}  // namespace

TEST_CASE("drawn lines of rows that differ in length deliver the same in any pieces") {
  const Scheduler scheduler(8);
  for (std::uint64_t draw = 0; draw < 40; ++draw) check_drawn(draw);
}

TEST_CASE("10,000 drawn lines of rows that differ in length deliver the same in any pieces" *
          doctest::test_suite("nightly")) {
  const Scheduler scheduler(8);
  for (std::uint64_t draw = 40; draw < 10'040; ++draw) check_drawn(draw);
}
