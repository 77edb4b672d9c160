#include <filesystem>
#include <system_error>

#include "sampling/core/say.h"
#include "sampling/core/settings.h"
#include "stages/torch/hooks/built_in.h"

namespace flowtrain {

namespace {

class StopFile final : public Hook {
 public:
  explicit StopFile(std::filesystem::path file) : file_(std::move(file)) {}
  std::vector<Point> points() const override { return {Point::run_begin, Point::iteration_end}; }
  void at(Point, Moment& moment) override {
    std::error_code ignored;
    if (std::filesystem::exists(file_, ignored))
      moment.stop(say("there is a file ", file_.string(), ": hook stop_file"));
  }

 private:
  std::filesystem::path file_;
};

}  // namespace

std::unique_ptr<Hook> make_stop_file_hook(const Settings& settings) {
  if (settings.text("file").empty())
    throw settings.error("file", "stop_file needs the file's path", Exit::usage, "file = \"STOP\"");
  return std::make_unique<StopFile>(settings.text("file"));
}

}  // namespace flowtrain
