// A hook for tests, with a key that [[hook]] has of its own.

#include "stages/torch/plugin.h"

namespace {

using namespace flowtrain;

class TakenKey final : public Hook {
 public:
  static const char* help() { return "does nothing"; }
  static std::vector<Key> keys() { return {{"file", Kind::text, std::string(), "what it would write"}}; }

  explicit TakenKey(const Settings&) {}
  std::vector<Point> points() const override { return {}; }
  void at(Point, Moment&) override {}
};

}  // namespace

FLOWTRAIN_HOOK(TakenKey)
