#include "nets/net.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/nets/names_of.h"
#include "tests/nets/summary.h"
#include "tests/support/failure_helper.h"
#include "tests/support/parts.h"

namespace flowtrain::nets::net_test {

using flowtrain::UserError;
using flowtrain::testing::make_loss;
using flowtrain::testing::make_net;
using flowtrain::testing::make_optimizer;
using flowtrain::testing::NetOf;
using flowtrain::testing::OptimizerOf;
using flowtrain::testing::summary;

namespace {

NetOf net_of(const std::string& name, std::int64_t channels = 3, std::int64_t side = 32) {
  return {name, {.classes = 10, .channels = channels, .height = side, .width = side}};
}

using Widths = std::vector<std::int64_t>;

at::Tensor logits(Net& net, const at::Tensor& image) { return net.forward({{"image", image}}).at("logits"); }

}  // namespace

TEST_CASE("names are sorted, and an unknown one lists them") {
  const auto names = nets().names();
  CHECK(std::is_sorted(names.begin(), names.end()));
  const UserError unknown = flowtrain::failure_of([] { make_net(net_of("alexnet")); });
  CHECK(std::string(unknown.what()) == "no net is called 'alexnet'");
  CHECK(unknown.hint() ==
        "did you mean 'lenet'? known: conformer, cornernet, cornernet_saccade, cornernet_squeeze, crnn, encoder, gan, "
        "gpt2, lenet, mlp, package, resnet101, resnet18, resnet34, resnet50, script");
}

TEST_CASE("what a net cannot be built from is refused") {
  auto refused = [](auto change, const char* message) {
    NetOf net = net_of("lenet");
    change(net.input);
    CHECK_THROWS_WITH_AS(make_net(net), message, std::invalid_argument);
  };
  refused([](NetInput& input) { input.classes = 0; }, "net lenet: classes is 0, expected 1 or more");
  refused([](NetInput& input) { input.channels = 0; }, "net lenet: channels is 0, expected 1 or more");
  refused([](NetInput& input) { input.width = 11; },
          "net lenet: pictures are 32 x 11 pixels, expected 12 x 12 or more");
  for (const std::string name : {"lenet", "mlp"})
    CHECK_THROWS_WITH_AS(make_net({name, {10, 3, 32, 32}, {{"dropout", 1.0}}}),
                         doctest::Contains("net.dropout: must be from 0 to 0.999"), UserError);
  CHECK_THROWS_WITH_AS(make_net({"mlp", {10, 3, 32, 32}, {{"hidden", Widths{8, 0}}}}),
                       doctest::Contains("net.hidden: each element must be from 1 to "), UserError);
}

TEST_CASE("mlp: layers, names, shapes") {
  const auto with_hidden = [](const Widths& hidden) { return make_net({"mlp", {10, 1, 4, 4}, {{"hidden", hidden}}}); };
  const auto net = with_hidden({5, 3});
  CHECK(names_of(net->parameters()) ==
        "layers.0.weight layers.0.bias layers.1.weight layers.1.bias layers.2.weight layers.2.bias");
  CHECK(net->parameters().at("layers.0.weight").sizes() == at::IntArrayRef({5, 16}));
  CHECK(net->buffers().empty());
  CHECK(summary(*net).tensors == 6);
  CHECK(summary(*net).parameters == 16 * 5 + 5 + 5 * 3 + 3 + 3 * 10 + 10);
  CHECK(summary(*net).bytes == 4 * summary(*net).parameters);
  CHECK(logits(*net, at::zeros({7, 1, 4, 4})).sizes() == at::IntArrayRef({7, 10}));

  CHECK(names_of(with_hidden({})->parameters()) == "layers.0.weight layers.0.bias");
}

TEST_CASE("lenet takes every size from 12 pixels on, square or not") {
  for (const auto [channels, height, width] : {std::array{1, 28, 28}, {3, 32, 32}, {3, 12, 12}, {2, 13, 27}}) {
    const auto net = make_net({"lenet", {10, channels, height, width}});
    CHECK(names_of(net->parameters()) ==
          "conv1.weight conv1.bias conv2.weight conv2.bias "
          "fc1.weight fc1.bias fc2.weight fc2.bias fc3.weight fc3.bias");
    CHECK(logits(*net, at::zeros({2, channels, height, width})).sizes() == at::IntArrayRef({2, 10}));
  }
}

TEST_CASE("the same seed gives the same weights, another seed others") {
  for (const std::string name : {"mlp", "lenet", "resnet18"}) {
    auto weights = [&](std::uint64_t seed) {
      at::manual_seed(seed);
      return make_net(net_of(name))->parameters();
    };
    const NamedTensors first = weights(1), again = weights(1), other = weights(2);
    for (const auto& [parameter, tensor] : first) CHECK(at::equal(tensor, again.at(parameter)));
    CHECK_FALSE(at::equal(first.begin()->second, other.begin()->second));
  }
}

TEST_CASE("dropout acts while training only") {
  for (const std::string name : {"mlp", "lenet"}) {
    at::manual_seed(1);
    const auto net = make_net({name, {10, 3, 32, 32}, {{"dropout", 0.5}}});
    const at::Tensor image = at::randn({2, 3, 32, 32});
    net->train(true);
    CHECK_FALSE(at::equal(logits(*net, image), logits(*net, image)));
    net->train(false);
    CHECK(at::equal(logits(*net, image), logits(*net, image)));
  }
}

TEST_CASE("channels-last weights give the same logits and gradients, in the same tensors") {
  for (const std::string name : {"mlp", "lenet", "resnet18", "resnet50"}) {
    CAPTURE(name);
    at::manual_seed(1);
    const auto net = make_net(net_of(name));
    net->train(false);
    const at::Tensor image = at::randn({2, 3, 32, 32});
    const NamedTensors parameters = net->parameters();
    const std::string first = name == "mlp" ? "layers.0.weight" : "conv1.weight";

    const at::Tensor plain = logits(*net, image);
    plain.sum().backward();
    const at::Tensor plain_gradient = parameters.at(first).grad().clone();
    for (const auto& [parameter, tensor] : parameters) tensor.mutable_grad().reset();

    net->to(at::kCPU, true);
    const at::Tensor relaid = logits(*net, image.contiguous(at::MemoryFormat::ChannelsLast));
    relaid.sum().backward();
    for (const auto& [parameter, tensor] : parameters) {
      CHECK(tensor.is_same(net->parameters().at(parameter)));
      if (tensor.dim() == 4) CHECK(tensor.is_contiguous(at::MemoryFormat::ChannelsLast));
    }
    CHECK(at::allclose(plain, relaid, 1e-4, 1e-4));
    const double scale = plain_gradient.abs().max().item<double>();
    CHECK(at::allclose(plain_gradient, parameters.at(first).grad(), 1e-3, 1e-4 * scale));

    net->to(at::kCPU, false);
    for (const auto& [parameter, tensor] : parameters) CHECK(tensor.is_contiguous());
  }
}

TEST_CASE("lenet learns a small batch by heart") {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  at::manual_seed(1);
  const auto net = make_net(net_of("lenet", 1, 28));
  const auto optimizer = make_optimizer(OptimizerOf{.name = "adam", .lr = 1e-3}, net->parameters());
  const auto loss_of = make_loss("cross_entropy");
  const NamedTensors batch{{"image", at::randn({16, 1, 28, 28})}, {"label", at::arange(16).remainder(10)}};
  double loss = 0;
  for (int step = 0; step < 60; ++step) {
    optimizer->zero_grad();
    const NamedTensors losses = (*loss_of)(net->forward(batch), batch);
    losses.at("loss").backward();
    optimizer->step();
    loss = losses.at("loss").item<double>();
  }
  CHECK(loss < 0.1);
  at::set_num_threads(threads);
}

TEST_CASE("what is frozen takes no gradients, and its statistics do not move") {
  const auto net = make_net(net_of("resnet18"));
  net->freeze({"conv1.weight", "bn1.weight", "bn1.bias", "layer1.0.bn1.weight"});  // of the last one, half
  net->train(true);
  const auto buffer = [&](const std::string& name) { return net->buffers().at(name).clone(); };
  const at::Tensor frozen = buffer("bn1.running_mean"), half = buffer("layer1.0.bn1.running_mean");
  logits(*net, at::randn({2, 3, 32, 32})).sum().backward();
  CHECK(at::equal(buffer("bn1.running_mean"), frozen));
  CHECK_FALSE(at::equal(buffer("layer1.0.bn1.running_mean"), half));
  for (const auto& [name, parameter] : net->parameters()) {
    const bool learns =
        name != "conv1.weight" && name != "bn1.weight" && name != "bn1.bias" && name != "layer1.0.bn1.weight";
    CHECK_MESSAGE(parameter.grad().defined() == learns, name);
  }
}

}  // namespace flowtrain::nets::net_test
