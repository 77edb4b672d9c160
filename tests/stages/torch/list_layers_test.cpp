#include <doctest/doctest.h>

#include <ATen/Context.h>
#include <torch/utils.h>

#include "stages/model/layer_list.h"
#include "tests/support/tiny_learner.h"

namespace flowtrain::list_layers_test {

using flowtrain::testing::Tables;

namespace {

LearnerState state_of(Learner& learner) {
  LearnerState state;
  learner.copy_state(state);
  state.settle();
  return state;
}

}  // namespace

TEST_CASE("layers are listed with the shapes that they give for a batch, and nothing is another one afterwards") {
  Tables tables;
  tables.net = Settings("net", keys_with("net", "resnet18"));
  const auto learner = tables.learner({});
  const auto before = state_of(*learner);
  torch::manual_seed(5);
  const at::Tensor expected = at::rand({4});
  torch::manual_seed(5);
  const LayerList list = dynamic_cast<LayerLister&>(*learner).list_layers();
  CHECK(at::equal(at::rand({4}), expected));
  const auto after = state_of(*learner);
  REQUIRE(after.model.size() == before.model.size());
  for (std::size_t i = 0; i < after.model.size(); ++i) CHECK((after.model[i].bytes == before.model[i].bytes));

  CHECK(list.note == "");
  REQUIRE(list.layers.size() == 41);
  const LayerList::Layer &first = list.layers.front(), &last = list.layers.back();
  CHECK(first.name == "conv1");
  CHECK(first.kind.starts_with("conv"));
  CHECK(first.shape.front() == 8);
  CHECK(first.shape[1] == 64);
  CHECK(first.elements == 64 * 3 * 7 * 7);
  CHECK(first.bytes == 4 * first.elements);
  CHECK(first.frozen == 0);
  CHECK(last.name == "fc");
  CHECK(last.kind == "linear");
  CHECK(last.shape == std::vector<std::int64_t>{8, 4});
  for (auto& layer : list.layers) CHECK_FALSE(layer.shape.empty());
}

}  // namespace flowtrain::list_layers_test
