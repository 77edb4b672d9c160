#include <torch/types.h>
#include <torch/utils.h>

#include <map>

#include "nets/tensors.h"
#include "sampling/core/settings.h"
#include "stages/torch/hooks/built_in.h"

namespace flowtrain {

namespace {

class Norms final : public Hook {
 public:
  Norms(std::uint64_t every, std::int64_t depth) : every_(every), depth_(depth) {}
  std::vector<Point> points() const override { return {Point::backward}; }

  void at(Point, Moment& moment) override {
    if (moment.iteration % every_ != 0) return;
    const torch::NoGradGuard no_gradients;
    std::map<std::string, std::vector<at::Tensor>> weights, gradients;
    for (auto& [name, parameter] : *moment.parameters) {
      weights[part_of(name)].push_back(parameter);
      if (parameter.grad().defined()) gradients[part_of(name)].push_back(parameter.grad());
    }
    for (auto& [part, tensors] : weights) moment.log("weight_norm." + part, norm(tensors));
    for (auto& [part, tensors] : gradients) moment.log("grad_norm." + part, norm(tensors));
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

std::unique_ptr<Hook> make_norms_hook(const Settings& settings) {
  return std::make_unique<Norms>(static_cast<std::uint64_t>(settings.integer("every")), settings.integer("depth"));
}

}  // namespace flowtrain
