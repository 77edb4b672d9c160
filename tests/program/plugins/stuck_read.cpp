// A data set for tests, one of whose reads never ends: the first one, of all processes, after a file has appeared.

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class StuckRead final : public Dataset {
 public:
  explicit StuckRead(const Settings& settings) : marker_(settings.text("marker")) {}

  std::uint64_t size() const override { return 256; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    if (std::filesystem::exists(marker_)) get_stuck(id);
    buffer.bytes.assign(side * side, static_cast<std::byte>(id));
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
  std::vector<std::string> classes() const override { return {"even", "odd"}; }
  std::string describe(std::uint64_t id) const override { return "grey #" + std::to_string(id); }

 private:
  static constexpr std::uint32_t side = 16;

  // Says who is stuck, and at what: "<process> <record>\n".
  void get_stuck(std::uint64_t id) const {
    const int file = ::open((marker_ + ".taken").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return;
    const std::string text = std::to_string(::getpid()) + " " + std::to_string(id) + "\n";
    if (::write(file, text.data(), text.size()) < 0) return;
    for (;;) ::pause();
  }

  std::string marker_;
};

void add() {
  datasets().add({"stuck_read",
                  "grey pictures, one of which cannot be read to its end",
                  {{"marker", Kind::text, std::string("marker"), "from the file on"}},
                  [](const Settings& settings, const DatasetInput&) { return std::make_unique<StuckRead>(settings); }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
