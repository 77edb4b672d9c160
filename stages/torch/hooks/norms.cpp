#include "stages/hooks/hook_entries.h"

#if FLOWTRAIN_COMPUTES
#include <torch/types.h>
#include <torch/utils.h>

#include <map>

#include "nets/tensors.h"
#endif

namespace flowtrain {

#if FLOWTRAIN_COMPUTES
namespace {

/// Logs the 2-norms of weights and gradients, as `weight_norm.<part>` and `grad_norm.<part>`.
class Norms final : public Hook {
 public:
  Norms(std::uint64_t every, std::int64_t depth) : every_(every), depth_(depth) {}
  std::vector<HookEvent> events() const override { return {HookEvent::backward}; }

  void on_event(HookEvent, HookContext& context) override {
    if (context.iteration % every_ != 0) return;
    const torch::NoGradGuard no_gradients;
    std::map<std::string, std::vector<at::Tensor>> weights, gradients;
    for (auto& [name, parameter] : *context.parameters) {
      weights[part_of(name)].push_back(parameter);
      if (parameter.grad().defined()) gradients[part_of(name)].push_back(parameter.grad());
    }
    for (auto& [part, tensors] : weights) context.log("weight_norm." + part, norm(tensors));
    for (auto& [part, tensors] : gradients) context.log("grad_norm." + part, norm(tensors));
  }

 private:
  std::string part_of(const std::string& name) const {
    std::size_t end = 0;
    for (std::int64_t i = 0; i < depth_; ++i) {
      end = name.find('.', i == 0 ? 0 : end + 1);
      if (end == std::string::npos) return name.substr(0, name.rfind('.'));
    }
    return name.substr(0, end);
  }

  static double norm(const std::vector<at::Tensor>& tensors) {
    return torch::stack(at::_foreach_norm(tensors, 2)).norm().item<double>();
  }

  std::uint64_t every_;
  std::int64_t depth_;
};

}  // namespace
#endif

FLOWTRAIN_HOOKS(norms) {
  hooks.add({"norms",
             "logs the norms of the weights and gradients of the net's parts",
             {{"every", Kind::integer, std::int64_t{20}, "iterations between two values", 1, 9e15},
              {"depth", Kind::integer, std::int64_t{1},
               "number of words of a parameter's name that name a part of the net", 1, 100}},
             FLOWTRAIN_MAKE([](const Settings& settings, const HookInput&) {
               return std::make_unique<Norms>(static_cast<std::uint64_t>(settings.integer("every")),
                                              settings.integer("depth"));
             }),
             {.observes_only = true}});
}

}  // namespace flowtrain
