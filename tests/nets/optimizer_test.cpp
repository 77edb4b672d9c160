#include "nets/optim/optimizer.h"

#include <ATen/record_function.h>
#include <doctest/doctest.h>
#include <torch/optim.h>

#include <atomic>
#include <cmath>
#include <map>

#include "tests/support/failure_helper.h"
#include "tests/support/parts.h"

namespace flowtrain::optimizer_test {

using namespace flowtrain::nets;
using flowtrain::failure_of;
using flowtrain::UserError;
using flowtrain::testing::make_optimizer;
using flowtrain::testing::OptimizerOf;
using flowtrain::testing::table_of;
using flowtrain::testing::Values;

namespace {

/// Metrics of all optimizers; each takes those that it knows.
struct Spec {
  std::string name = "sgd";
  double lr = 0.1;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;

  OptimizerOf optimizer() const {
    if (name == "sgd") return {name, lr, weight_decay, {{"momentum", momentum}, {"nesterov", nesterov}}};
    if (name == "rmsprop") return {name, lr, weight_decay, {{"momentum", momentum}}};
    if (!name.starts_with("adam")) return {name, lr, weight_decay, {}};
    return {name, lr, weight_decay, {{"betas", std::vector<double>{beta1, beta2}}, {"eps", eps}}};
  }
};

std::unique_ptr<Optimizer> made(const Spec& spec, const NamedTensors& parameters) {
  return make_optimizer(spec.optimizer(), parameters);
}

/// Parameters of some shapes in f64, where rounding hides nothing.
NamedTensors make_parameters() {
  at::manual_seed(3);
  NamedTensors parameters;
  parameters.set("weight", at::randn({5, 3, 3, 3}, at::kDouble).requires_grad_());
  parameters.set("bias", at::randn({7}, at::kDouble).requires_grad_());
  return parameters;
}

/// Gradients of step `step`, the same for both sides of a comparison.
void set_gradients(const NamedTensors& parameters, int step) {
  at::manual_seed(100 + step);
  for (const auto& [name, parameter] : parameters) parameter.mutable_grad() = at::randn(parameter.sizes(), at::kDouble);
}

std::vector<at::Tensor> values(const NamedTensors& parameters) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
  return tensors;
}

/// Twenty steps of ours and of torch's own, with a change of the learning rate on the way.
template <class Reference, class Options>
void compare(const Spec& spec, Options options) {
  const NamedTensors ours = make_parameters(), theirs = make_parameters();
  const auto optimizer = made(spec, ours);
  Reference reference(values(theirs), options);
  for (int step = 0; step < 20; ++step) {
    if (step == 10) {
      optimizer->set_hyper(spec.lr / 10, spec.name == "sgd" ? spec.momentum : spec.beta1, 1);
      reference.param_groups()[0].options().set_lr(spec.lr / 10);
    }
    set_gradients(ours, step);
    set_gradients(theirs, step);
    optimizer->step();
    reference.step();
    for (const auto& [name, tensor] : ours) CHECK(at::allclose(tensor, theirs.at(name), 1e-12, 1e-14));
  }
}

/// The equations, written out: a step with these rates, whatever those of the steps before were.
class ByHand {
 public:
  ByHand(const Spec& spec, const NamedTensors& parameters) : spec_(spec), parameters_(parameters) {}

  void step(double lr, double momentum, double decay) {
    const at::NoGradGuard no_grad;
    ++steps_;
    for (const auto& [name, parameter] : parameters_) {
      at::Tensor p = parameter.detach(), g = parameter.grad();
      if (spec_.name != "adamw" && spec_.name != "lion") g = g + decay * p;
      at::Tensor &first = first_.try_emplace(name, at::zeros_like(p)).first->second,
                 &second = second_.try_emplace(name, at::zeros_like(p)).first->second;
      if (spec_.name == "sgd") {
        first = momentum * first + g;
        p.sub_(lr * (spec_.nesterov ? g + momentum * first : first));
        continue;
      }
      if (spec_.name == "rmsprop") {
        second = 0.99 * second + 0.01 * g * g;
        first = momentum * first + g / (second.sqrt() + 1e-8);
        p.sub_(lr * first);
        continue;
      }
      if (spec_.name == "adamw" || spec_.name == "lion") p.mul_(1 - lr * decay);
      if (spec_.name == "lion") {
        p.sub_(lr * (momentum * first + (1 - momentum) * g).sign());
        first = 0.99 * first + 0.01 * g;
        continue;
      }
      first = momentum * first + (1 - momentum) * g;
      second = spec_.beta2 * second + (1 - spec_.beta2) * g * g;
      const double kept = 1 - std::pow(momentum, steps_), kept2 = 1 - std::pow(spec_.beta2, steps_);
      p.sub_(lr / kept * first / (second.sqrt() / std::sqrt(kept2) + spec_.eps));
    }
  }

 private:
  const Spec spec_;
  const NamedTensors parameters_;
  int steps_ = 0;
  std::map<std::string, at::Tensor> first_, second_;
};

}  // namespace

TEST_CASE("each metric that a schedule moves may go down to 0, and up again") {
  const std::vector<Spec> specs{{.lr = 0.1, .weight_decay = 0.1},
                                {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1},
                                {.lr = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.1},
                                {.name = "adam", .lr = 0.1, .weight_decay = 0.1},
                                {.name = "adamw", .lr = 0.1, .weight_decay = 0.1},
                                {.name = "lion", .lr = 0.1, .weight_decay = 0.1},
                                {.name = "rmsprop", .lr = 0.1, .momentum = 0.9, .weight_decay = 0.1}};
  for (const Spec& spec : specs)
    for (const std::string target : {"lr", "momentum", "weight_decay"})
      for (const bool rate_on_device : {false, true}) {
        CAPTURE(spec.name);
        CAPTURE(spec.nesterov);
        CAPTURE(target);
        CAPTURE(rate_on_device);
        const NamedTensors ours = make_parameters(), theirs = make_parameters();
        const auto optimizer = made(spec, ours);
        if (rate_on_device) optimizer->keep_rate_on_device();
        ByHand by_hand(spec, theirs);
        int step = 0;
        for (const double factor : {1., 0.5, 0., 0., 0.25, 1.}) {
          const auto of = [&](const char* what, double scalar) { return target == what ? factor * scalar : scalar; };
          const double lr = of("lr", spec.lr), decay = of("weight_decay", 1),
                       momentum = of("momentum", spec.momentum > 0 || spec.name == "sgd" ? spec.momentum : spec.beta1);
          set_gradients(ours, step);
          set_gradients(theirs, step++);
          optimizer->set_hyper(lr, momentum, decay);
          optimizer->step();
          by_hand.step(lr, momentum, decay * spec.weight_decay);
          for (const auto& [name, tensor] : ours) CHECK(at::allclose(tensor, theirs.at(name), 1e-12, 1e-14));
        }
      }
}

TEST_CASE("sgd is torch.optim's") {
  using torch::optim::SGD;
  using torch::optim::SGDOptions;
  compare<SGD>({.lr = 0.1}, SGDOptions(0.1));
  compare<SGD>({.lr = 0.1, .weight_decay = 0.01}, SGDOptions(0.1).weight_decay(0.01));
  compare<SGD>({.lr = 0.1, .momentum = 0.9}, SGDOptions(0.1).momentum(0.9));
  compare<SGD>({.lr = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01},
               SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01));
}

TEST_CASE("adam and adamw are torch.optim's") {
  using namespace torch::optim;
  compare<Adam>({.name = "adam", .lr = 0.01}, AdamOptions(0.01));
  compare<Adam>({.name = "adam", .lr = 0.01, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6},
                AdamOptions(0.01).weight_decay(0.1).betas({0.8, 0.95}).eps(1e-6));
  compare<AdamW>({.name = "adamw", .lr = 0.01, .weight_decay = 0.1}, AdamWOptions(0.01).weight_decay(0.1));
}

TEST_CASE("parameters in half precision are rounded from copies in f32, which are updated as f32 parameters are") {
  for (const auto& [name, momentum] : {std::pair{"sgd", 0.0},
                                       {"sgd", 0.9},
                                       {"adam", 0.0},
                                       {"adamw", 0.0},
                                       {"adafactor", 0.0},
                                       {"lamb", 0.0},
                                       {"lion", 0.0},
                                       {"rmsprop", 0.0}})
    for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
      CAPTURE(name);
      at::manual_seed(3);
      NamedTensors half, whole;
      for (const auto& [each, size] : {std::pair{"weight", 300}, {"bias", 5}}) {
        const at::Tensor value = at::randn({size}).to(type);
        half.set(each, value.clone().requires_grad_());
        whole.set(each, value.to(at::kFloat).requires_grad_());
      }
      half.set("scale", at::ones({}).requires_grad_());  // types that mix
      whole.set("scale", at::ones({}).requires_grad_());
      const Spec spec{.name = name, .lr = 1e-3, .momentum = momentum, .weight_decay = 0.01};
      const auto own = made(spec, half), expected = made(spec, whole);
      NamedTensors first;
      for (const auto& [each, parameter] : half) first.add(each, parameter.detach().clone());
      for (int step = 0; step < 30; ++step) {
        set_gradients(whole, step);
        for (const auto& [each, parameter] : whole) {
          const at::Tensor gradient = parameter.grad().to(half.at(each).scalar_type());
          half.at(each).mutable_grad() = gradient;
          parameter.mutable_grad() = gradient.to(at::kFloat);
        }
        own->step(step == 3 ? at::ones({}) : at::Tensor());  // one that is left out
        if (step != 3) expected->step();
      }
      for (const auto& [each, parameter] : whole) {
        CHECK(at::equal(half.at(each), parameter.detach().to(half.at(each).scalar_type())));
        CHECK(at::ne(half.at(each), first.at(each)).to(at::kFloat).mean().item<double>() > 0.5);
      }
      CHECK(at::equal(own->state().at("master.weight"), whole.at("weight").detach()));
      CHECK(!own->state().contains("master.scale"));
    }
}

TEST_CASE("an update goes on from what was put into a parameter in half precision") {
  const at::Tensor w = at::ones({40}, at::kBFloat16).requires_grad_();
  const auto optimizer = made({.lr = 0.5}, {{"w", w}});
  w.mutable_grad() = at::full({40}, 0.001, at::kBFloat16);
  optimizer->step();
  CHECK(w[0].item<double>() == 1);
  w.detach().fill_(4);
  w.mutable_grad().fill_(2);
  optimizer->step();
  CHECK(at::equal(optimizer->state().at("master.w"), at::full({40}, 3.0)));
  CHECK(w[39].item<double>() == 3);
}

TEST_CASE("a gradient laid out otherwise than its parameter is applied element by element") {
  for (const std::string& name : optimizers().names()) {
    const NamedTensors plain = make_parameters(), relaid = make_parameters();
    const at::Tensor& weight = relaid.at("weight");
    weight.set_data(weight.detach().contiguous(at::MemoryFormat::ChannelsLast));
    const Spec spec{.name = name, .lr = 0.1, .momentum = 0.9};
    const auto first = made(spec, plain), second = made(spec, relaid);
    for (int step = 0; step < 3; ++step) {
      set_gradients(plain, step);
      set_gradients(relaid, step);
      first->step();
      second->step();
    }
    CHECK(at::allclose(plain.at("weight"), weight, 1e-12, 1e-14));
  }
}

TEST_CASE("a gradient is taken as it is where it differs in the strides of dimensions of size 1 alone") {
  static std::atomic<int> copies;
  for (const std::string& name : optimizers().names()) {
    // Of a 1 × 1 convolution: channels innermost, or not, is the same memory.
    const at::Tensor weight = at::ones({4, 3, 1, 1}).requires_grad_();
    const auto optimizer = made({.name = name, .lr = 0.1, .momentum = 0.9}, {{"weight", weight}});
    const auto copies_with = [&](const at::Tensor& gradient) {
      weight.mutable_grad() = gradient;
      copies = 0;
      const auto handle = at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction& call) {
                                                  if (std::string(call.name()) == "aten::copy_") ++copies;
                                                  return std::unique_ptr<at::ObserverContext>();
                                                }).scopes({at::RecordScope::FUNCTION}));
      optimizer->step();
      at::removeCallback(handle);
      return copies.load();
    };
    const at::Tensor gradient = at::rand({4, 3, 1, 1}), relaid = gradient.as_strided({4, 3, 1, 1}, {3, 1, 3, 3});
    REQUIRE(relaid.strides() != weight.strides());
    const int of_its_own = copies_with(gradient);  // of its count of steps
    CHECK(copies_with(relaid) == of_its_own);
    CHECK(copies_with(at::rand({3, 4, 1, 1}).transpose(0, 1)) == of_its_own + 1);
  }
}

TEST_CASE("parameters without a gradient are left alone, and so is their state") {
  for (const std::string& name : optimizers().names()) {
    const NamedTensors parameters = make_parameters();
    const auto optimizer = made({.name = name, .momentum = 0.9, .weight_decay = 0.1}, parameters);
    set_gradients(parameters, 0);
    parameters.at("bias").mutable_grad().reset();
    optimizer->step();
    CHECK(at::equal(parameters.at("bias"), make_parameters().at("bias")));
    CHECK_FALSE(at::equal(parameters.at("weight"), make_parameters().at("weight")));
    for (const auto& [slot, tensor] : optimizer->state()) {
      CAPTURE(slot);
      CHECK(tensor.ne(0).any().item<bool>() == slot.ends_with("weight"));
    }

    optimizer->zero_grad();
    CHECK_FALSE(parameters.at("weight").grad().defined());
    optimizer->step();  // nothing to do
  }
}

TEST_CASE("state is complete from the start") {
  auto described = [](const Spec& spec) {
    std::string text;
    const NamedTensors parameters = make_parameters();
    for (const auto& [name, tensor] : made(spec, parameters)->state()) {
      CHECK(tensor.eq(0).all().item<bool>());
      CHECK_FALSE(tensor.requires_grad());
      text += name + (tensor.dim() == 0 && tensor.scalar_type() == at::kFloat ? "(f32) " : " ");
    }
    return text;
  };
  CHECK(described({}) == "");
  CHECK(described({.momentum = 0.9}) == "momentum_buffer.weight momentum_buffer.bias ");
  for (const std::string name : {"adam", "adamw"}) {
    CHECK(described({.name = name}) ==
          "step.weight(f32) step.bias(f32) exp_avg.weight exp_avg.bias exp_avg_sq.weight exp_avg_sq.bias ");
  }
}

TEST_CASE("copying into the state goes on exactly where another optimizer stopped") {
  for (const std::string& name : optimizers().names()) {
    const Spec spec{.name = name, .lr = 0.1, .momentum = 0.9};
    auto steps = [](Optimizer& optimizer, const NamedTensors& parameters, int from, int to) {
      for (int step = from; step < to; ++step) {
        set_gradients(parameters, step);
        optimizer.step();
      }
    };
    const NamedTensors parameters = make_parameters(), resumed = make_parameters();
    const auto before = made(spec, parameters), after = made(spec, resumed);
    steps(*before, parameters, 0, 5);
    for (const auto& [slot, tensor] : after->state()) tensor.copy_(before->state().at(slot));
    for (const auto& [parameter, tensor] : resumed) tensor.detach().copy_(parameters.at(parameter).detach());
    steps(*before, parameters, 5, 9);
    steps(*after, resumed, 5, 9);
    for (const auto& [parameter, tensor] : resumed) CHECK(at::equal(tensor, parameters.at(parameter)));
  }
}

TEST_CASE("groups have rates and weight decay of their own, and all follow the optimizer's") {
  using torch::optim::AdamW;
  using torch::optim::AdamWOptions;
  const NamedTensors ours = make_parameters(), theirs = make_parameters();
  const auto optimizer = make_optimizer(
      OptimizerOf{.name = "adamw", .lr = 0.1},
      std::vector<ParameterGroup>{{{{"weight", ours.at("weight")}}, 1, 0.3}, {{{"bias", ours.at("bias")}}, 0.5, 0}});
  AdamW reference({torch::optim::OptimizerParamGroup(
                       {theirs.at("weight")}, std::make_unique<AdamWOptions>(AdamWOptions(0.1).weight_decay(0.3))),
                   torch::optim::OptimizerParamGroup(
                       {theirs.at("bias")}, std::make_unique<AdamWOptions>(AdamWOptions(0.05).weight_decay(0)))});
  const auto group = [&](std::size_t i) -> AdamWOptions& {
    return static_cast<AdamWOptions&>(reference.param_groups()[i].options());
  };
  for (int step = 0; step < 10; ++step) {
    if (step == 5) {
      optimizer->set_hyper(0.02, 0.8, 0.1);
      group(0).lr(0.02).betas({0.8, 0.999}).weight_decay(0.03);
      group(1).lr(0.01).betas({0.8, 0.999});
    }
    set_gradients(ours, step);
    set_gradients(theirs, step);
    optimizer->step();
    reference.step();
    for (const auto& [name, tensor] : ours) CHECK(at::allclose(tensor, theirs.at(name), 1e-12, 1e-14));
  }
  CHECK(optimizer->state().at("exp_avg.bias").sizes() == ours.at("bias").sizes());
}

TEST_CASE("settings out of range are refused") {
  const UserError unknown = failure_of([] { table_of(optimizers(), "shampoo"); });
  CHECK(std::string(unknown.what()) == "no optimizer is called 'shampoo'");
  CHECK(unknown.hint() == "known: adafactor, adam, adamw, lamb, lion, muon, rmsprop, sgd");

  const auto refused = [](const std::string& name, const Values& keys, const std::string& message) {
    CHECK_THROWS_WITH_AS(table_of(optimizers(), name, keys), doctest::Contains(message.c_str()), UserError);
  };
  refused("sgd", {{"momentum", 1.5}}, "optimizer.momentum: must be from 0 to 1");
  refused("sgd", {{"betas", std::vector<double>{0.9, 0.999}}}, "optimizer.betas: unknown key");
  refused("adam", {{"betas", std::vector<double>{0.9, -1}}}, "optimizer.betas: each element must be from 0 to 1");
  refused("adamw", {{"eps", -1.0}}, "optimizer.eps: must be from 0 to ");

  const auto do_not_fit = [](const std::string& name, const Values& keys, const char* message) {
    const auto settings = table_of(optimizers(), name, keys);
    CHECK_THROWS_WITH_AS(optimizers().at(name).check(settings), message, UserError);
  };
  do_not_fit("sgd", {{"nesterov", true}}, "test.toml:1:1: optimizer.nesterov: needs optim.momentum > 0");
  do_not_fit("adam", {{"betas", std::vector<double>{1, 0.999}}},
             "test.toml:1:1: optimizer.betas: expected two numbers below 1, got [1.0, 0.999]");
  do_not_fit("adamw", {{"betas", std::vector<double>{0.9}}},
             "test.toml:1:1: optimizer.betas: expected two numbers below 1, got [0.9]");
}

TEST_CASE("parameters that an optimizer cannot take are refused") {
  const auto refused = [](const ParameterGroup& group, const char* message) {
    CHECK_THROWS_WITH_AS(make_optimizer(OptimizerOf{}, std::vector<ParameterGroup>{group}), message,
                         std::invalid_argument);
  };
  refused({make_parameters(), 1, -0.1}, "optimizer sgd: weight_decay is -0.1, expected 0 or more");
  refused({make_parameters(), -1, 0}, "optimizer sgd: lr_mult is -1, expected 0 or more");
  CHECK_THROWS_WITH_AS(made({}, {}), "optimizer sgd: the net has no parameters to learn", std::invalid_argument);
  CHECK_THROWS_WITH_AS(made({}, {{"a", at::zeros({1})}, {"b", at::zeros({1}, at::kDouble)}}),
                       "optimizer sgd: parameter b is Double on cpu, but a is Float on cpu; expected one type on one "
                       "device",
                       std::invalid_argument);
}

}  // namespace flowtrain::optimizer_test
