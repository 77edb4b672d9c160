// A data set whose records count how often they were read.
#include <atomic>

#include "pipeline/plugin.h"

using namespace flowtrain;

class Counts final : public Dataset {
 public:
  std::uint64_t size() const override { return 10; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    buffer.bytes.assign(1, static_cast<std::byte>(reads_++));
    Record record;
    record.id = id;
    record.bytes = buffer.bytes;
    return record;
  }
  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return {}; }
  std::string describe(std::uint64_t id) const override { return "record " + std::to_string(id); }

 private:
  mutable std::atomic<unsigned> reads_ = 0;
};

static void add() {
  datasets().add(
      {"broken", "breaks a rule", {}, [](const Settings&, const DatasetInput&) { return std::make_unique<Counts>(); }});
}

FLOWTRAIN_PLUGIN(add)
