// Trains as a configuration says, with a hook of this program's own:
//   train CONFIG KEY=VALUE…

#include <cstdio>
#include <memory>

#include "pipeline/library/train.h"
#include "sampling/core/error.h"
#include "stages/hooks/hook_entries.h"

using namespace flowtrain;

/// Prints the loss of each iteration.
class PrintLoss final : public Hook {
 public:
  std::vector<HookEvent> events() const override { return {HookEvent::iteration_end}; }
  void on_event(HookEvent, HookContext& context) override {
    for (auto& [name, value] : *context.scalars)
      if (name == "loss") std::printf("iteration %d: loss %g\n", static_cast<int>(context.iteration), value);
  }
};

int main(int argc, char** argv) try {
  if (argc < 2) return 2;
  hooks().add({"print_loss", "prints each loss", {}, [](const Settings&, const HookInput&) {
                 return std::make_unique<PrintLoss>();
               }});
  StartOptions start;
  start.config = argv[1];
  for (int i = 2; i < argc; ++i) start.overrides.push_back(parse_set(argv[i]));
  const TrainOutcome outcome = train(start);
  std::printf("run: %s\n", outcome.folder.c_str());
  return outcome.exit_code;
} catch (const UserError& error) {
  std::fprintf(stderr, "error: %s\n%s\n", error.what(), error.hint().c_str());
  return static_cast<int>(error.code());
}
