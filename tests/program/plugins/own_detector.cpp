// A net for tests that looks for objects in the cells of a grid, its loss, and the detector that makes boxes of its
// map.

#include <ATen/ATen.h>
#include <torch/nn/modules/conv.h>

#include "nets/layers/module_net.h"
#include "nets/losses/loss.h"
#include "pipeline/plugin.h"
#include "stages/torch/detection/box_detector.h"

namespace {

using namespace flowtrain;

constexpr std::int64_t cell = 8;  // pixels

/// Gives `map` (rows, classes + 4, h, w): logits of each cell's classes, and half the sides of its object, in cells.
class Cells final : public nets::ModuleNet {
 public:
  explicit Cells(const nets::NetInput& input)
      : Cells(std::make_shared<torch::nn::Conv2dImpl>(
            torch::nn::Conv2dOptions(input.channels, input.classes + 4, cell).stride(cell))) {}
  nets::NamedTensors forward(const nets::NamedTensors& batch) override {
    return {{"map", layer_->forward(batch.at("image"))}};
  }
  bool may_give(const std::string& output) const override { return output == "map"; }

 private:
  explicit Cells(std::shared_ptr<torch::nn::Conv2dImpl> layer) : ModuleNet(layer), layer_(std::move(layer)) {}
  std::shared_ptr<torch::nn::Conv2dImpl> layer_;
};

/// Asks for the first object of each picture, in the cell of its middle.
class FirstObject final : public nets::Loss {
 public:
  nets::NamedTensors operator()(const nets::NamedTensors& outputs, const nets::NamedTensors& batch) const override {
    const at::Tensor map = outputs.at("map").flatten(2), box = batch.at("boxes").select(1, 0);
    const std::int64_t classes = map.size(1) - 4, width = outputs.at("map").size(3);
    const at::Tensor middle = ((box.narrow(1, 0, 2) + box.narrow(1, 2, 2)) / (2 * cell)).floor().to(at::kLong);
    const at::Tensor place = middle.select(1, 1) * width + middle.select(1, 0);
    const at::Tensor row = at::arange(map.size(0)), label = batch.at("labels").select(1, 0);
    const at::Tensor wanted = at::zeros_like(map.narrow(1, 0, classes)).index_put_({row, label, place}, 1);
    const at::Tensor sides = map.narrow(1, classes, 4).index({row, at::indexing::Slice(), place});
    return {{"loss",
             at::binary_cross_entropy_with_logits(map.narrow(1, 0, classes), wanted) + (sides - 1).square().mean()}};
  }
};

BatchBoxes boxes_of(const at::Tensor& map) {
  const std::int64_t classes = map.size(1) - 4, width = map.size(3);
  const auto [scores, labels] = map.narrow(1, 0, classes).sigmoid().flatten(2).max(1);
  const at::Tensor number = at::arange(map.size(2) * width);
  const at::Tensor middle = at::stack({number.remainder(width), number.floor_divide(width)}, 1) + 0.5;
  const at::Tensor sides = map.narrow(1, classes, 4).abs().flatten(2).transpose(1, 2);
  const at::Tensor boxes = at::cat({middle - sides.narrow(2, 0, 2), middle + sides.narrow(2, 2, 2)}, 2);
  return {boxes * cell, scores, labels};
}

void add() {
  nets::nets().add({"own_cells",
                    "classes and sides of objects by cells",
                    {},
                    [](const Settings&, const nets::NetInput& input) { return std::make_unique<Cells>(input); },
                    {.detector = "own_cells"}});
  nets::losses().add({"own_cells",
                      "for own_cells",
                      {},
                      [](const Settings&, const nets::LossInput&) { return std::make_unique<FirstObject>(); },
                      {.mixes = false}});
  std::vector<Key> keys = box_keys();
  keys.push_back({"factor", Kind::real, 1.0, "of the scores", 0, 1});
  detectors().add({"own_cells",
                   "boxes of a map's cells",
                   std::move(keys),
                   [](const Settings& settings, const DetectorInput& input) {
                     const auto read = [factor = settings.real("factor")](const nets::NamedTensors& outputs) {
                       BatchBoxes boxes = boxes_of(outputs.at("map"));
                       boxes.scores = boxes.scores * factor;
                       return boxes;
                     };
                     return make_box_detector(settings, input, {"map"}, read);
                   },
                   {.outputs = {"map"}}});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
