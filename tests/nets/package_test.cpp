#include <c10/core/CPUAllocator.h>
#include <doctest/doctest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <cmath>

#include "nets/net.h"
#include "nets/package/checks.h"
#include "nets/package/compiled_net.h"
#include "sampling/core/out_of_memory.h"
#include "tests/support/packages.h"
#include "tests/support/parts.h"

namespace flowtrain::package_test {

using namespace flowtrain::nets;

namespace {

/// One of made_packages().
std::unique_ptr<Net> load_package(const std::filesystem::path& file) {
  auto net = testing::make_net({"package", {}, {{"package", file.string()}}});
  net->to(at::kCPU, false);
  return net;
}

NamedTensors package_batch(std::int64_t rows) {
  torch::manual_seed(3);
  return {{"image", at::randn({rows, 3, 16, 16})}, {"label", at::randint(6, {rows}, at::kLong)}};
}

NamedTensors losses_of_package(Net& net, const NamedTensors& batch, const std::string& loss = "loss") {
  return dynamic_cast<CompiledNet&>(net).loss_of(loss, batch);
}

/// The gradients of `factor` times the loss, of those parameters that have one, for draws of one seed.
NamedTensors package_gradients(Net& net, const NamedTensors& batch, double factor = 1) {
  torch::manual_seed(9);
  const at::Tensor loss = losses_of_package(net, batch).at("loss") * factor;
  for (const auto& [name, parameter] : net.parameters()) parameter.mutable_grad().reset();
  loss.backward();
  NamedTensors all;
  for (const auto& [name, parameter] : net.parameters())
    if (parameter.grad().defined()) all.add(name, parameter.grad().clone());
  return all;
}

}  // namespace

TEST_CASE("a package's gradients are those of its loss, for any number of rows, and multiply as others do") {
  const auto packages = made_packages(TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const auto net = load_package(*packages / "plain.pt2");
  for (const std::int64_t rows : {1, 4, 33}) {
    const NamedTensors batch = package_batch(rows);
    const auto expected = [&] {
      const auto weights = net->parameters();
      const at::Tensor hidden =
          at::relu(at::conv2d(batch.at("image"), weights.at("conv.weight"), weights.at("conv.bias"), 2, 1));
      const at::Tensor logits =
          at::linear(at::max_pool2d(hidden, 2).flatten(1), weights.at("fc.weight"), weights.at("fc.bias"));
      for (const auto& [name, parameter] : weights) parameter.mutable_grad().reset();
      at::cross_entropy_loss(logits, batch.at("label")).backward();
      NamedTensors all;
      for (const auto& [name, parameter] : weights) all.add(name, parameter.grad().clone());
      return all;
    }();
    const auto given = package_gradients(*net, batch), scaled = package_gradients(*net, batch, 0.25);
    for (const auto& [name, gradient] : expected) {
      CHECK(at::allclose(given.at(name), gradient, 1e-4, 1e-6));
      CHECK(at::equal(given.at(name) * 0.25, scaled.at(name)));
    }
  }
}

TEST_CASE("a package counts what its loss is the mean of, in training and in evaluation") {
  const auto packages = made_packages(TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const auto net = load_package(*packages / "counted.pt2");
  const auto& compiled = dynamic_cast<CompiledNet&>(*net);
  CHECK(compiled.counts("loss"));
  CHECK(compiled.counts("hits"));
  CHECK_FALSE(compiled.counts("logits"));
  CHECK(compiled.scalars_of("loss") == std::vector<std::string>{"hits"});
  NamedTensors batch = package_batch(9);
  for (const std::int64_t known : {9, 4, 0}) {
    batch.set("label", at::cat({at::ones({known}, at::kLong), at::zeros({9 - known}, at::kLong)}));
    const NamedTensors losses = losses_of_package(*net, batch);
    CHECK(losses.at("loss.count").item<double>() == static_cast<double>(known));
    CHECK(losses.at("hits.count").item<double>() == static_cast<double>(known));
    CHECK((losses.at("loss").item<double>() == 0) == (known == 0));
    CHECK(net->forward(batch).at("loss.count").item<double>() == static_cast<double>(known));
    const auto gradients = package_gradients(*net, batch);
    CHECK((gradients.at("fc.bias").abs().max().item<double>() == 0) == (known == 0));
  }
}

TEST_CASE("gradients of a package need no factor where backward begins with the tensor that is known to be 1") {
  const auto packages = made_packages(TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const auto net = load_package(*packages / "plain.pt2");
  const NamedTensors batch = package_batch(4);
  const auto gradients_from = [&](const at::Tensor& first, bool doubled) {
    for (const auto& [name, parameter] : net->parameters()) parameter.mutable_grad().reset();
    const at::Tensor loss = losses_of_package(*net, batch).at("loss");
    (doubled ? loss * 2 : loss).backward(first);
    return net->parameters().at("fc.weight").grad().clone();
  };
  const at::Tensor plain = gradients_from({}, false);
  const at::Tensor known = at::full({}, 3.f);  // nobody looks at its value
  dynamic_cast<CompiledNet&>(*net).take_unit_gradient(known);
  CHECK(at::equal(gradients_from(known, false), plain));
  CHECK(at::equal(gradients_from(known.clone(), false), plain * 3));
  CHECK(at::equal(gradients_from(known, true), plain * 6));
}

TEST_CASE("a package draws by torch's seed, writes its buffers in place, and evaluates without either") {
  const auto packages = made_packages(TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const auto net = load_package(*packages / "full.pt2");
  const NamedTensors batch = package_batch(8), buffers = net->buffers();
  const auto first = package_gradients(*net, batch);
  CHECK(at::equal(first.at("conv.weight"), package_gradients(*net, batch).at("conv.weight")));
  CHECK(buffers.at("norm.num_batches_tracked").item<std::int64_t>() == 2);
  const at::Tensor mean = buffers.at("norm.running_mean").clone();
  CHECK(mean.abs().max().item<double>() > 0);

  const at::NoGradGuard no_gradients;
  net->train(false);
  CHECK(net->may_give("logits"));
  CHECK(!net->may_give("scores"));
  const at::Tensor logits = net->forward(batch).at("logits");
  CHECK(at::equal(logits, net->forward(batch).at("logits")));
  CHECK(at::equal(buffers.at("norm.running_mean"), mean));
  at::Tensor(net->parameters().at("fc.bias")).add_(1);
  CHECK(at::allclose(net->forward(batch).at("logits"), logits + 1, 1e-5, 1e-5));
}

TEST_CASE("frozen parameters of a package take no gradients, and running statistics of frozen layers stay") {
  const auto packages = made_packages(TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const auto net = load_package(*packages / "full.pt2");
  net->freeze({"norm.weight", "norm.bias", "fc.bias"});
  package_gradients(*net, package_batch(8));
  for (const auto& [name, parameter] : net->parameters())
    CHECK(parameter.grad().defined() ==
          (name != "norm.weight" && name != "norm.bias" && name != "fc.bias" && name != "scale"));
  CHECK(net->buffers().at("norm.running_mean").abs().max().item<double>() == 0);
  CHECK(net->buffers().at("norm.num_batches_tracked").item<std::int64_t>() == 0);
}

TEST_CASE("gradients of a package that are one tensor add up for each parameter by itself, and some have none") {
  const auto packages = made_packages(TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const auto net = load_package(*packages / "full.pt2");
  const NamedTensors batch = package_batch(8);
  const auto once = package_gradients(*net, batch);
  torch::manual_seed(9);
  losses_of_package(*net, batch).at("loss").backward();
  for (const auto& [name, parameter] : net->parameters()) {
    CHECK(parameter.grad().defined() == (name != "scale"));
    if (name.starts_with("biases") || name == "fc.bias") CHECK(at::allclose(parameter.grad(), once.at(name) * 2));
  }
}

TEST_CASE("each loss of a package has the gradients of its own part, and in eval mode all are there at once") {
  const auto packages = made_packages(TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const auto net = load_package(*packages / "two.pt2");
  auto& compiled = dynamic_cast<CompiledNet&>(*net);
  const std::vector<std::string> both{"head", "critic"};
  CHECK(compiled.losses() == both);
  CHECK(compiled.scalars_of("head").empty());
  CHECK(compiled.scalars_of("critic") == std::vector<std::string>{"gap"});
  const NamedTensors batch = package_batch(8);
  NamedTensors values;
  for (const std::string& loss : compiled.losses()) {
    for (const auto& [name, parameter] : net->parameters()) parameter.mutable_grad().reset();
    const NamedTensors made = losses_of_package(*net, batch, loss);
    made.at(loss).backward();
    for (const auto& [name, parameter] : net->parameters()) CHECK(parameter.grad().defined() == name.starts_with(loss));
    values.add(loss, made.at(loss).detach());
  }
  net->train(false);
  const NamedTensors all = losses_of_package(*net, batch, "head");
  for (const auto& [name, value] : values) CHECK(at::allclose(all.at(name), value, 1e-5, 1e-6));
  CHECK(all.at("logits").sizes() == at::IntArrayRef({8, 6}));
}

TEST_CASE("a label that the graph would end the process for is named, in training and in evaluation") {
  const auto packages = made_packages(TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const auto net = load_package(*packages / "plain.pt2");
  const NamedTensors batch = package_batch(8);
  const auto with_label = [&](std::int64_t value) {
    NamedTensors changed = batch;
    changed.set("label", batch.at("label").clone());
    changed.at("label")[5] = value;
    return changed;
  };
  for (const std::int64_t value : {6, -1}) {
    const std::string said = "'label' of row 5 of the batch has the value " + std::to_string(value) +
                             ", but the graph takes 0 to 5, or -100";
    CHECK_THROWS_WITH_AS(losses_of_package(*net, with_label(value)), doctest::Contains(said.c_str()),
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(net->forward(with_label(value)), doctest::Contains(said.c_str()), std::invalid_argument);
  }
  CHECK(at::isfinite(losses_of_package(*net, with_label(-100)).at("loss")).item<bool>());
}

TEST_CASE("parts of a field have values of their own: tokens that are looked up, and those that come next") {
  const auto packages = made_packages(TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageArchive archive((*packages / "plain.pt2").string());
  PackageDescription description;
  description.inputs = {{.field = {"tokens", "int64", {-1, 4}},
                         .free = {},
                         .values = {{.least = 0, .end = 9, .ignored = {}, .part = {{1, 0, 3}}},
                                    {.least = 0, .end = 7, .ignored = -100, .part = {{1, 1, 4}}}}}};
  const auto check = [&](std::int64_t place, std::int64_t value) {
    NamedTensors batch{{"tokens", at::zeros({2, 4}, at::kLong)}};
    batch.at("tokens")[1][place] = value;
    check_values(description, batch, archive);
  };
  CHECK_NOTHROW(check(0, 8));  // it is not among those that come next
  CHECK_NOTHROW(check(3, -100));
  CHECK_THROWS_WITH_AS(check(0, 9),
                       doctest::Contains("'tokens' of row 1 of the batch has the value 9, but the graph "
                                         "takes 0 to 8"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(check(2, 8), doctest::Contains("the value 8, but the graph takes 0 to 6, or -100"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(check(2, -100), doctest::Contains("the value -100, but the graph takes 0 to 8"),
                       std::invalid_argument);
}

TEST_CASE(
    "extents of free axes are compared with a package's bounds, and with each other where the graph combines them") {
  const auto packages = made_packages(TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageArchive archive((*packages / "plain.pt2").string());
  PackageDescription description;
  description.inputs = {{.field = {"tokens", "int64", {-1, -1}},
                         .free = {{.axis = 1, .least = 2, .most = 64, .extent = 0}},
                         .values = {{.least = 0, .end = 9, .ignored = {}, .part = {{1, 0, -1}}}}},
                        {.field = {"target", "int64", {-1, -1}},
                         .free = {{.axis = 1, .least = 1, .most = 64, .extent = 0}},
                         .values = {{.least = 0, .end = 7, .ignored = {}, .part = {{1, 1, 0}}}}}};
  const auto check = [&](std::int64_t tokens, std::int64_t target) {
    check_inputs(description, {{"tokens", "int64", {3, tokens}}, {"target", "int64", {3, target}}}, archive);
  };
  const auto refused = [&](std::int64_t tokens, std::int64_t target, const char* text) {
    CHECK_THROWS_WITH_AS(check(tokens, target), doctest::Contains(text), std::invalid_argument);
  };
  CHECK_NOTHROW(check(64, 64));
  CHECK_NOTHROW(check(-64, -32));  // bounds of a run's fields
  refused(65, 65, "'tokens' of the batch has 65 along axis 1, but the graph takes 2 to 64");
  refused(-65, -64, "'tokens' of the batch has up to 65 along axis 1");
  refused(1, 1, "'tokens' of the batch has 1 along axis 1");
  refused(5, 6, "'target' of the batch has 6 along axis 1, and 'tokens' 5 along axis 1");

  const auto check_of = [&](const at::Tensor& tokens, const at::Tensor& target) {
    check_values(description, {{"tokens", tokens}, {"target", target}}, archive);
  };
  const auto refused_of = [&](const at::Tensor& tokens, const at::Tensor& target, const char* text) {
    CHECK_THROWS_WITH_AS(check_of(tokens, target), doctest::Contains(text), std::invalid_argument);
  };
  const at::Tensor known = at::zeros({2, 3}, at::kLong), first = known.clone(), last = known.clone();
  first.select(1, 0).fill_(9);
  last.select(1, 2).fill_(9);
  CHECK_NOTHROW(check_of(last, first));
  CHECK_NOTHROW(check_of(last.narrow(1, 2, 1), first.narrow(1, 0, 1)));  // nothing is looked up
  refused_of(first, first, "'tokens' of row 0 of the batch has the value 9");
  refused_of(last, last, "'target' of row 0 of the batch has the value 9");
}

namespace {

/// Has no memory while it is `short_of_it`.
struct ShortAllocator : c10::Allocator {
  explicit ShortAllocator(c10::Allocator* inner) : inner(inner) {}
  at::DataPtr allocate(std::size_t size) override { return inner->allocate(short_of_it ? std::size_t{1} << 60 : size); }
  c10::DeleterFnPtr raw_deleter() const override { return inner->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t size) const override { inner->copy_data(to, from, size); }

  c10::Allocator* const inner;
  bool short_of_it = false;
};

}  // namespace

TEST_CASE("a graph for which the host has no memory says so, and runs as soon as there is some") {
  const auto packages = made_packages(TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  static ShortAllocator memory(c10::GetCPUAllocator());
  c10::SetCPUAllocator(&memory);
  const auto net = load_package(*packages / "plain.pt2");
  const NamedTensors batch = package_batch(8);
  const at::Tensor expected = losses_of_package(*net, batch).at("loss");
  memory.short_of_it = true;
  CHECK_THROWS_WITH_AS(losses_of_package(*net, batch), doctest::Contains("out of memory: package "), OutOfMemory);
  memory.short_of_it = false;
  CHECK(at::equal(losses_of_package(*net, batch).at("loss"), expected));
}

}  // namespace flowtrain::package_test
