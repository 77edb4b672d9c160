// Several optimizers compute one micro-batch.

#include "stages/torch/step/passes.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

#include "tests/support/tiny_learner.h"

namespace flowtrain::passes_test {

using testing::fill;
using testing::layout;
using testing::Tables;

namespace {

/// Two optimizers of one loss; the first, of the layers before the last, is at work in iterations that `every` divides.
std::unique_ptr<Learner> two_optimizers(Tables& tables, std::int64_t every, const char* first, const char* second) {
  tables.train.set("clip", 0.0, {});
  tables.optims.assign(2, tables.optim);
  tables.optims[0].set("params", std::string(first), {});
  tables.optims[0].set("every", every, {});
  tables.optims[1].set("params", std::string(second), {});
  LearnerSpec spec{{tables.net, tables.loss, tables.optims, tables.groups, tables.train, tables.run, tables.val},
                   {layout}};
  spec.data.classes = 4;
  spec.data.class_names = {"a", "b", "c", "d"};
  spec.process.seed = 3;
  return make_torch_learner(spec);
}

std::vector<StateTensor> model_of(Learner& learner) {
  LearnerState state;
  learner.copy_state(state);
  state.settle();
  return state.model;
}

}  // namespace

TEST_CASE("an optimizer that rests leaves the loss as it is, and updates as one whose rate is 0 in between") {
  Tables tables;
  tables.optim.set("weight_decay", 0.0, {});
  const auto device = make_cpu_device();
  Slab slab(layout, *device);
  const auto rests = two_optimizers(tables, 2, "layers.0", "layers.1"),
             always = two_optimizers(tables, 1, "layers.0", "layers.1");
  for (std::uint64_t iteration = 1; iteration <= 5; ++iteration) {
    CAPTURE(iteration);
    fill(slab, iteration, 8);
    const bool at_work = iteration % 2 == 0;
    const std::array<HyperParameters, 2> hyper{HyperParameters{at_work ? 0.1 : 0, 0, 1}, HyperParameters{0.1, 0, 1}};
    const auto step = [&](Learner& learner) {
      learner.set_hyper(hyper);
      learner.forward_backward(slab, {});
      learner.finish_gradients();
      StepStats done = learner.stats();
      learner.update();
      return done;
    };
    const StepStats one = step(*rests), other = step(*always);
    CHECK(one.loss == other.loss);
    // What rests has no gradients, so none in the norm either.
    CHECK((one.grad_norm == other.grad_norm) == at_work);
    CHECK(one.grad_norm <= other.grad_norm);
  }
  const auto one = model_of(*rests), other = model_of(*always);
  REQUIRE(one.size() == other.size());
  for (std::size_t i = 0; i < one.size(); ++i) CHECK((one[i].bytes == other[i].bytes));
}

TEST_CASE("running statistics follow a batch once, however many optimizers learn from it") {
  Tables tables;
  tables.net = Settings("net", keys_with("net", "resnet18"));
  const auto device = make_cpu_device();
  Slab slab(layout, *device);
  const auto learner = two_optimizers(tables, 2, "^(conv1|bn1|layer)", "^fc");
  const std::array<HyperParameters, 2> hyper{HyperParameters{0.01, 0, 1}, HyperParameters{0.01, 0, 1}};
  for (std::uint64_t iteration = 1; iteration <= 2; ++iteration) {
    fill(slab, iteration, 8);
    learner->set_hyper(hyper);
    learner->forward_backward(slab, {});
    learner->finish_gradients();
    learner->update();
  }
  bool found = false;
  for (auto& tensor : model_of(*learner))
    if (tensor.name == "bn1.num_batches_tracked") {
      std::int64_t batches = 0;
      std::memcpy(&batches, tensor.bytes.data(), sizeof batches);
      CHECK(batches == 2);
      found = true;
    }
  CHECK(found);
}

TEST_CASE("the rows of an iteration weigh the same, whichever of its micro-batches they are in") {
  Tables tables;
  tables.net.set("dropout", 0.0, {});
  const auto device = make_cpu_device();
  Slab slab(layout, *device), rest(layout, *device);
  const std::array<HyperParameters, 2> hyper{HyperParameters{0.1, 0, 1}, HyperParameters{0.1, 0, 1}};
  const auto large = two_optimizers(tables, 1, "layers.0", "layers.1");
  fill(slab, 1, 8);
  large->set_hyper(hyper);
  large->forward_backward(slab, {});
  large->finish_gradients();
  const StepStats whole = large->stats();

  tables.train.set("accum", std::int64_t{2}, {});
  const auto small = two_optimizers(tables, 1, "layers.0", "layers.1");
  small->set_hyper(hyper);
  const auto give = [&](std::uint16_t micro, std::size_t first, std::uint32_t rows) {
    Ticket ticket{.iteration = 1};
    ticket.micro = micro;
    rest.begin(ticket, 0, rows, 1);
    rest.set_share(rows * 2 / 8.0);
    for (std::size_t field = 0; field < layout.fields().size(); ++field)
      std::memcpy(rest.host() + layout.offset(field),
                  slab.host() + layout.offset(field) + first * layout.row_bytes(field), rows * layout.row_bytes(field));
    small->forward_backward(rest, {});
  };
  give(0, 0, 6);
  give(1, 6, 2);
  small->finish_gradients();
  const StepStats parts = small->stats();
  CHECK(parts.loss == doctest::Approx(whole.loss).epsilon(1e-6));
  CHECK(parts.grad_norm == doctest::Approx(whole.grad_norm).epsilon(1e-5));
}

}  // namespace flowtrain::passes_test
