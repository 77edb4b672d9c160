// LibTorch's own data loader in C++ over the same work: the threads of torch::data, and a data set whose get() does
// what our sampler does, stacked to batches of 64. Between its values and the line's lies the loader. Prints JSON.
//
//     build/release/bin/bench_libtorch_loader FOLDER_OR_TAR [workers] [seconds] [antialias|bilinear] [u8|f32]

#include <torch/torch.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "benchmarks/jpeg_work.h"

using namespace flowtrain;

namespace {

using torch::data::TensorExample;

/// A picture per index, at random cut: (224, 224, 3) u8 or (3, 224, 224) f32. The loader gives each of its threads a
/// copy; they share the pictures and the number of the draw.
class Pictures : public torch::data::datasets::Dataset<Pictures, TensorExample> {
 public:
  explicit Pictures(const JpegTask& task)
      : task_(task),
        files_(std::make_shared<const std::vector<std::vector<std::byte>>>(load_pictures(task.path))),
        drawn_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

  TensorExample get(std::size_t index) override {
    Stream random(1, Purpose::sample, drawn_->fetch_add(1));
    auto pixels = torch::empty({side, side, 3}, torch::kUInt8);
    write_sample((*files_)[index], task_.filter, random, pixels.data_ptr<std::uint8_t>());
    if (!task_.floats) return pixels;
    auto normal = torch::empty({3, side, side}, torch::kFloat32);
    normalise(pixels.data_ptr<std::uint8_t>(), normal.data_ptr<float>());
    return normal;
  }

  std::optional<std::size_t> size() const override { return files_->size(); }

 private:
  JpegTask task_;
  std::shared_ptr<const std::vector<std::vector<std::byte>>> files_;
  std::shared_ptr<std::atomic<std::uint64_t>> drawn_;
};

/// Epoch after epoch; what comes after the first batch counts.
void measure(const JpegTask& task) {
  torch::set_num_threads(1);  // stacking is to happen on the workers, not on threads of its own
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      Pictures(task).map(torch::data::transforms::Stack<TensorExample>()),
      torch::data::DataLoaderOptions().batch_size(batch_pictures).workers(task.workers));
  std::optional<Meter> meter;
  std::uint64_t images = 0;
  while (true)
    for (auto& batch : *loader) {
      if (!meter) {
        meter.emplace();
        continue;
      }
      images += static_cast<std::uint64_t>(batch.data.size(0));
      if (meter->seconds() >= task.seconds) return meter->print(images);
    }
}

}  // namespace

int main(int argc, char** argv) { return run_jpeg_task(argc, argv, measure); }
