// Batches of rows that differ in length: what a loader delivers of them.

#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "sampling/field_text.h"
#include "tests/pipeline/engine/plans/shaped_line.h"

namespace flowtrain::shaped_batches_test {

using namespace flowtrain::testing;

namespace {

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

/// Returns what all processes of a world deliver together, batch by batch; with `end` they stop after that batch,
/// though they would go on to the last.
DeliveredBatches deliver(const Line& line, std::uint64_t first, std::uint64_t last, unsigned workers = 2,
                         std::uint64_t world = 1, std::uint64_t end = 0) {
  if (end == 0) end = last;
  DeliveredBatches all(end - first + 1);
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    Loader loader(line.parts(first, last, workers, {rank, world}));
    loader.start();
    std::size_t batch = 0;
    for (Ticket ticket; batch < all.size() && loader.next(ticket); loader.release(ticket))
      append(loader.slab(ticket), all[batch++]);
    if (end < last) {
      loader.stop();
      continue;
    }
    Ticket over;
    CHECK_FALSE(loader.next(over));
    loader.check_finished();
  }
  return all;
}

}  // namespace

TEST_CASE("rows of any form are the same at any number of workers and processes, and from any batch on") {
  const Scheduler scheduler(8);
  for (const Form form : {Form::padded, Form::bucketed, Form::packed}) {
    CAPTURE(static_cast<int>(form));
    const Line line({.form = form});
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
    const Line line({.form = form});
    const std::uint64_t epoch = line.batches.per_epoch();
    const auto all = deliver(line, 1, 2 * epoch);
    std::vector<std::vector<std::uint64_t>> order(2);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (auto& record : all[i]) order[i / epoch].push_back(record.id);
    CHECK(order[0] != order[1]);
    for (auto& ids : order) CHECK(std::set(ids.begin(), ids.end()).size() == line.dataset->size());
    for (auto& ids : order) CHECK(ids.size() == line.dataset->size());
  }
}

TEST_CASE("a padded batch is as long as its longest row, states the lengths, and is filled beyond them") {
  const Scheduler scheduler(4);
  for (const Form form : {Form::padded, Form::bucketed}) {
    const Line line({.form = form});
    Loader loader(line.parts(1, line.batches.per_epoch()));
    loader.start();
    for (Ticket ticket; loader.next(ticket); loader.release(ticket)) {
      const Slab& slab = loader.slab(ticket);
      const auto extent = static_cast<std::size_t>(slab.extents()[0]);
      std::size_t longest = 1;
      for (auto& row : slab.rows()) {
        const std::size_t length = std::min(line.texts[0]->length(row.id), 128u);
        longest = std::max(longest, length);
        const auto bytes = slab.bytes_of(row, 0);
        REQUIRE(bytes.size() == extent);
        for (std::size_t i = 0; i < extent; ++i)
          CHECK(std::to_integer<int>(bytes[i]) == (i < length ? 'a' + static_cast<int>(row.id % 26) : 255));
        std::int64_t stated[2];
        for (std::size_t field : {1, 2}) std::memcpy(&stated[field - 1], slab.bytes_of(row, field).data(), 8);
        CHECK(stated[0] == line.dataset->label(row.id));
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
  const Line line({.form = Form::packed});
  CHECK(describe_fields(line.sampler->fields()) == "bytes u8 128, position i32 128, segment i32 128");
  Loader loader(line.parts(1, line.batches.per_epoch()));
  loader.start();
  for (Ticket ticket; loader.next(ticket); loader.release(ticket)) {
    const Slab& slab = loader.slab(ticket);
    std::vector<std::uint32_t> filled(slab.row_count());
    std::vector<std::int32_t> records(slab.row_count());
    for (auto& record : slab.rows()) {
      const std::uint32_t length = std::min(line.texts[0]->length(record.id), 128u);
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
    const Line line({.form = form, .size = 300, .damaged_every = 7});
    const auto expected = deliver(line, 1, line.batches.per_epoch());
    for (auto& batch : expected)
      for (auto& record : batch) CHECK_FALSE(line.texts[0]->is_damaged(record.id));
    CHECK(deliver(line, 1, line.batches.per_epoch(), 4) == expected);
    CHECK(deliver(line, 1, line.batches.per_epoch(), 1, 3) == expected);
  }
}

namespace {

/// Draws a line: its form, its sources, its damage, and whether it is on a server.
LineOptions draw_line(Stream& random) {
  LineOptions options{.form = static_cast<Form>(random.below(3)), .size = 1 + random.below(200)};
  if (random.below(3) == 0) options.damaged_every = 3 + random.below(20);
  options.batch = 1 + static_cast<std::uint32_t>(random.below(20));
  options.remote = random.below(4) == 0;
  if (options.form == Form::padded && random.below(2) == 0) options.others = 1 + random.below(200);
  return options;
}

/// Returns whether so many of few records may be damaged that 16 attempts find no other one.
bool may_lack_others(const LineOptions& options) {
  const auto smallest = options.others > 0 ? std::min(options.size, options.others) : options.size;
  return options.damaged_every > 0 && smallest < 8;
}

/// Compares a line of drawn settings, ended anywhere and gone on with by processes and threads of drawn numbers, with
/// one thread's.
void check_drawn(std::uint64_t draw) {
  CAPTURE(draw);
  Stream random(17, Purpose::init, draw);
  const auto options = draw_line(random);
  if (may_lack_others(options)) return;
  const Line line(options);
  const std::uint64_t last = 1 + random.below(2 * line.batches.per_epoch());
  const auto expected = deliver(line, 1, last, 1);
  for (std::uint64_t first = 1; first <= last;) {  // each run gets as far as it does, and the next one goes on
    const auto end = first + random.below(last - first + 1);
    const auto world = 1 + random.below(4), workers = 1 + random.below(4);
    CAPTURE(first);
    CAPTURE(world);
    const auto piece = deliver(line, first, last, static_cast<unsigned>(workers), world, end);
    const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(first) - 1;
    CHECK(piece == DeliveredBatches(begin, expected.begin() + static_cast<std::ptrdiff_t>(end)));
    first = end + 1;
  }
  // Each read is announced, but for those of substitutes.
  for (const auto* texts : line.texts)
    if (options.remote && options.damaged_every == 0) CHECK(texts->hinted == texts->reads + texts->forgotten);
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

}  // namespace flowtrain::shaped_batches_test
