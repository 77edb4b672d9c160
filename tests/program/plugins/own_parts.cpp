// A data set and a schedule for tests: stripes that lie or stand, and a metric that goes down in steps of its own.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class Stripes final : public Dataset {
 public:
  Stripes(const Settings& settings, const DatasetInput& input)
      : count_(static_cast<std::uint64_t>(settings.integer("count"))),
        begin_(input.training ? 0 : 1000000),
        path_(settings.text("path")) {}

  std::uint64_t size() const override { return count_; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    buffer.bytes.resize(side * side);
    const std::uint64_t phase = (begin_ + id) / 2 * 7;
    for (std::size_t i = 0; i < buffer.bytes.size(); ++i)
      buffer.bytes[i] = static_cast<std::byte>(((id % 2 ? i / side : i % side) + phase) % 4 < 2 ? 255 : 0);
    Record record;
    record.id = id;
    record.encoding = Encoding::pixels;
    record.bytes = buffer.bytes;
    record.height = record.width = side;
    record.channels = 1;
    record.label = label(id);
    return record;
  }
  std::int64_t label(std::uint64_t id) const override { return static_cast<std::int64_t>(id % 2); }
  std::vector<std::string> classes() const override { return {"standing", "lying"}; }
  std::string describe(std::uint64_t id) const override { return "stripes #" + std::to_string(id); }
  bool resident() const override { return true; }

 private:
  static constexpr std::uint32_t side = 16;
  std::uint64_t count_, begin_;
  std::string path_;
};

class Halved final : public Schedule {
 public:
  explicit Halved(double every) : every_(every) {}
  double apply(double value, double at) const override { return value * std::pow(0.5, std::floor(at / every_)); }

 private:
  double every_;
};

void add() {
  datasets().add(
      {"stripes",
       "stripes that lie or stand",
       {{"count", Kind::integer, std::int64_t{300}, "pictures", 2, 1e6}},
       [](const Settings& settings, const DatasetInput& input) { return std::make_unique<Stripes>(settings, input); }});
  schedules().add({"halved",
                   "half as much after each `after`",
                   {{"after", Kind::integer, std::int64_t{10}, "from halving to halving", 1, 1e6}},
                   [](const Settings& settings, const ScheduleInput&) {
                     return std::make_unique<Halved>(static_cast<double>(settings.integer("after")));
                   }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
