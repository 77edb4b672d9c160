// A data set, an order and a sampler of the C++ interface, all of them sound.

#include <algorithm>
#include <cstring>

#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

/// Record n holds the number n, four times.
class Numbers final : public Dataset {
 public:
  explicit Numbers(std::int64_t count) : count_(static_cast<std::uint64_t>(count)) {}
  std::uint64_t size() const override { return count_; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    buffer.bytes.assign(4, static_cast<std::byte>(id));
    Record record;
    record.id = id;
    record.bytes = buffer.bytes;
    record.label = label(id);
    return record;
  }
  std::int64_t label(std::uint64_t id) const override { return static_cast<std::int64_t>(id % 3); }
  std::vector<std::string> classes() const override { return {"a", "b", "c"}; }
  std::string describe(std::uint64_t id) const override { return "number " + std::to_string(id); }

 private:
  std::uint64_t count_;
};

class Backwards final : public Order {
 public:
  explicit Backwards(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  std::uint64_t at(std::uint64_t, std::uint64_t index) const override { return size_ - 1 - index; }

 private:
  std::uint64_t size_;
};

/// The mean of a record's bytes, and in training a random number.
class Mean final : public Sampler {
 public:
  explicit Mean(bool training) : training_(training) {}
  std::vector<Field> fields() const override { return {{"mean", DType::u8, {}}, {"draw", DType::u8, {}}}; }
  void sample(const Record& record, Stream& random, Row row) const override {
    if (record.bytes.empty()) throw SampleError("the record is empty");
    std::uint64_t sum = 0;
    for (const std::byte value : record.bytes) sum += static_cast<std::uint64_t>(value);
    *row[0] = static_cast<std::byte>(sum / record.bytes.size());
    *row[1] = static_cast<std::byte>(training_ ? random.next() : 0);
  }

 private:
  bool training_;
};

void add() {
  datasets().add({"numbers",
                  "records of one number",
                  {{"count", Kind::integer, std::int64_t{30}, "records", 1, 255}},
                  [](const Settings& settings, const DatasetInput&) {
                    return std::make_unique<Numbers>(settings.integer("count"));
                  }});
  orders().add({"backwards", "from the last record to the first", {}, [](const Settings&, const OrderInput& input) {
                  return std::make_unique<Backwards>(input.dataset.size());
                }});
  samplers().add({"mean", "the mean of a record's bytes", {}, [](const Settings&, const SamplerInput& input) {
                    return std::make_unique<Mean>(input.training);
                  }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
