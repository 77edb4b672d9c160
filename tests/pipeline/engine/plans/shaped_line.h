#pragma once
// Loaders of texts that differ in length, in rows of each form.

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/engine/graph/graph.h"
#include "sampling/core/registry.h"
#include "sampling/core/text.h"
#include "sampling/plans/packed_sampler.h"
#include "sampling/sources/mixed_dataset.h"
#include "sampling/sources/mixed_order.h"
#include "sampling/transform.h"

namespace flowtrain::testing {

/// Texts of drawn lengths, of which some are damaged; text i is made of the letter 'a' + i % 26.
class Texts : public Dataset {
 public:
  /// `remote`: reads are announced, and some take long, as those that a server fails at first.
  explicit Texts(std::uint64_t size, std::uint64_t damaged_every = 0, bool remote = false)
      : size_(size), damaged_every_(damaged_every), remote_(remote) {
    for (std::size_t i = 0; i < letters_.size(); ++i) letters_[i].assign(most_letters, static_cast<char>('a' + i));
    for (std::uint64_t id = 0; id < size; ++id) {
      Stream random(3, Purpose::init, id);
      const double drawn = std::exp(2.5 + 0.8 * random.normal());
      lengths_.push_back(static_cast<std::uint32_t>(std::min(drawn, double{most_letters})));
    }
  }
  std::uint64_t size() const override { return size_; }
  std::int64_t label(std::uint64_t id) const override { return static_cast<std::int64_t>(id % 3); }
  std::vector<std::string> classes() const override { return {"0", "1", "2"}; }
  std::string describe(std::uint64_t id) const override { return concat("text ", id); }
  bool resident() const override { return !remote_; }
  bool takes_hints() const override { return remote_; }
  void hint(std::uint64_t) const override { ++hinted; }
  void prefetch(std::uint64_t) const override { ++prefetched; }
  void forget(std::uint64_t) const override { ++forgotten; }
  std::vector<PartForm> parts() const override { return {{"txt", Encoding::text}}; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    ++reads;
    if (remote_ && id % 13 == 5) std::this_thread::sleep_for(std::chrono::microseconds(id * 7 % 300));
    if (is_damaged(id)) throw SampleError("it is damaged");
    const auto bytes = std::as_bytes(std::span(letters_[id % letters_.size()])).first(lengths_[id]);
    buffer.parts.assign({{.name = "txt", .encoding = Encoding::text, .bytes = bytes}});
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

  mutable std::atomic<std::uint64_t> hinted = 0, prefetched = 0, forgotten = 0, reads = 0;

 private:
  static constexpr std::size_t most_letters = 200;

  std::uint64_t size_, damaged_every_;
  bool remote_;
  std::vector<std::uint32_t> lengths_;
  std::array<std::string, 26> letters_;
};

inline Settings field(const std::string& name, const std::string& as, const std::map<std::string, Value>& values) {
  std::vector<Key> keys{{"name", Kind::text, "", ""}, {"from", Kind::text, "", ""}, {"as", Kind::text, "", ""}};
  for (auto& key : transforms().at(as).keys) keys.push_back(key);
  Settings settings("field.0", keys);
  settings.set("name", name, {});
  settings.set("as", as, {});
  for (auto& [key, value] : values) settings.set(key, value, {});
  return settings;
}

enum class Form { padded, bucketed, packed };

/// The texts of a loader, and the form of its rows.
struct LineOptions {
  Form form = Form::padded;
  std::uint64_t size = 500, damaged_every = 0;
  std::uint32_t batch = 16, longest = 128;
  std::uint64_t budget = 600;  ///< of bucketed batches
  bool remote = false;
  std::uint64_t others = 0;  ///< padded: texts of a second source, of which come two where three of the first come
};

/// A loader's parts of texts in some form.
struct Line {
  explicit Line(const LineOptions& options) : form(options.form), batch(options.batch) {
    open(options);
    fields.push_back(field("bytes", "bytes",
                           {{"from", "txt"}, {"max", std::int64_t{options.longest}}, {"fill", std::int64_t{255}}}));
    if (form != Form::packed) fields.push_back(field("label", "label", {}));
    const auto& entry = samplers().at("fields");
    sampler = entry.make(Settings("sampler", entry.keys), {.dataset = *dataset, .fields = fields});
    plan = std::make_unique<ShapePlan>(measure(*dataset, *sampler, {}));
    batches = Batches(order->size(), batch, LastBatch::pad);
    if (form == Form::bucketed) {
      plan->bucketed =
          std::make_unique<BucketedBatches>(plan->lengths.axis(), BucketedOptions{.budget = options.budget, .seed = 5});
      batch = static_cast<std::uint32_t>(plan->bucketed->most_rows());
      batches = Batches(plan->bucketed->batches(), 1, LastBatch::wrap);
    } else if (form == Form::packed) {
      sampler = with_packed_rows(std::move(sampler));
      plan->packed =
          std::make_unique<PackedRows>(plan->lengths.axis(), PackedOptions{.row_length = options.longest, .seed = 5});
      plan->most_pieces = plan->packed->most_pieces();
      batches = Batches(plan->packed->rows(), batch, LastBatch::pad);
    }
  }

  LoaderParts parts(std::uint64_t first, std::uint64_t last, unsigned workers = 2, Slice slice = {}) const {
    LoaderParts parts{"test", *dataset, *order, *sampler, *device, batches};
    parts.seed = 42;
    parts.batch = static_cast<std::uint32_t>(slice.most(batch));
    parts.shape = {workers, 1, 3};
    parts.iterations.first = first, parts.iterations.last = last;
    parts.slice = slice;
    parts.plan = plan.get();
    parts.read_ahead = 20;
    return parts;
  }

  Form form;
  std::unique_ptr<Dataset> dataset;
  std::vector<const Texts*> texts;  ///< the source, or both
  std::vector<Settings> fields;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<ShapePlan> plan;
  std::unique_ptr<Order> order;
  std::unique_ptr<Device> device = make_cpu_device();
  std::uint32_t batch;
  Batches batches{1, 1, LastBatch::pad};

 private:
  void open(const LineOptions& options) {
    auto first = std::make_unique<Texts>(options.size, options.damaged_every, options.remote);
    texts.push_back(first.get());
    order = shuffled(*first, 5);
    if (options.others == 0) {
      dataset = std::move(first);
      return;
    }
    auto second = std::make_unique<Texts>(options.others, options.damaged_every, options.remote);
    texts.push_back(second.get());
    const std::vector<std::uint64_t> sizes{options.size, options.others};
    const std::vector<double> ratios{3, 2};
    const auto turns = shared_out(turns_of_epoch(EpochEnd::longest, sizes, ratios, 1), ratios);
    std::vector<OrderedSource> orders;
    orders.push_back({std::move(order), 0, turns[0]});
    orders.push_back({shuffled(*second, 6), options.size, turns[1]});
    order = std::make_unique<MixedOrder>(std::move(orders), 1);
    std::vector<Dataset::Source> sources;
    sources.push_back({"first", std::move(first)});
    sources.push_back({"second", std::move(second), options.size});
    dataset = std::make_unique<MixedDataset>(std::move(sources));
  }

  static std::unique_ptr<Order> shuffled(const Dataset& dataset, std::uint64_t seed) {
    const auto& shuffle = orders().at("shuffle");
    return shuffle.make(Settings("order", shuffle.keys), {dataset, seed});
  }
};

}  // namespace flowtrain::testing
