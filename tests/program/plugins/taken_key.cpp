// A hook for tests, with a key that [[hook]] has of its own.

#include "pipeline/plugin.h"
#include "stages/hooks/hook.h"

namespace {

using namespace flowtrain;

class TakenKey final : public Hook {
 public:
  std::vector<HookEvent> events() const override { return {}; }
  void on_event(HookEvent, HookContext&) override {}
};

void add() {
  hooks().add({"taken_key",
               "does nothing",
               {{"priority", Kind::integer, std::int64_t{0}, "how much it matters"}},
               [](const Settings&, const HookInput&) { return std::make_unique<TakenKey>(); }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
