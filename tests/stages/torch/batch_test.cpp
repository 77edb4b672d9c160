// Slabs to tensors, mixed or not, against the same thing done with torch's operators one after the other.

#include "stages/torch/batch.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <array>
#include <cstring>

#include "sampling/core/error.h"
#include "stages/loader/finished_sampler.h"
#include "tests/support/parts.h"

namespace flowtrain::batch_test {

namespace {

using at::indexing::Slice;

constexpr std::uint64_t seed = 5;
constexpr std::int64_t height = 9, width = 14, channels = 3;
constexpr std::uint32_t rows = 6;

const std::vector<double> mean{0.485, 0.456, 0.406}, stddev{0.229, 0.224, 0.225};
const SlabLayout layout({{"image", DType::u8, {height, width, channels}, mean, stddev},
                         {"mask", DType::u8, {4, 4, 1}},
                         {"label", DType::i64, {}}},
                        rows);

/// A batch of random levels, whose labels are the numbers of its rows.
class FilledSlab {
 public:
  explicit FilledSlab(std::uint64_t iteration, std::uint16_t micro = 0, std::uint32_t count = rows)
      : slab(layout, *device_) {
    Ticket ticket;
    ticket.iteration = iteration;
    ticket.micro = micro;
    slab.begin(ticket, 0, count, 1);
    Stream random(1, Purpose::sample, iteration);
    for (std::size_t i = 0; i < layout.bytes(); ++i) slab.host()[i] = static_cast<std::byte>(random.below(256));
    for (std::uint32_t row = 0; auto& work : slab.rows()) {
      work.position = 100 * iteration + row;
      const std::int64_t label = row;
      std::memcpy(slab.host() + layout.offset(2) + row++ * sizeof label, &label, sizeof label);
    }
  }

 private:
  std::unique_ptr<Device> device_ = make_cpu_device();

 public:
  Slab slab;
};

/// What normalising was before it was one pass: three of torch's.
at::Tensor normalised(Slab& slab) {
  const auto count = static_cast<std::int64_t>(slab.rows().size());
  const auto bytes = at::from_blob(slab.device() + layout.offset(0), {count, height, width, channels}, at::kByte);
  const auto deviations = at::tensor(stddev, at::kFloat), means = at::tensor(mean, at::kFloat);
  return bytes.permute({0, 3, 1, 2})
      .to(at::kFloat)
      .mul((1 / (255 * deviations)).view({1, channels, 1, 1}))
      .add((-means / deviations).view({1, channels, 1, 1}));
}

/// The draws of a mixed batch, done step by step.
at::Tensor mixed(Slab& slab, const BatchMix& mix) {
  auto pixels = normalised(slab);
  std::vector<std::int64_t> partners;
  for (std::int64_t row = 0; auto& drawn : mix.rows) {
    const auto& box = drawn.erased;
    pixels.index_put_({row++, Slice(), Slice(box.top, box.bottom), Slice(box.left, box.right)}, at::scalar_tensor(0.f));
    partners.push_back(drawn.partner);
  }
  const auto others = pixels.index_select(0, at::tensor(partners, at::kLong));
  if (mix.kind == BatchMix::Kind::mixup) return pixels * mix.own + others * (1 - mix.own);
  const auto& cut = mix.cut;
  pixels = pixels.clone();
  const auto part = [&](const at::Tensor& of) {
    return of.slice(2, cut.top, cut.bottom).slice(3, cut.left, cut.right);
  };
  part(pixels).copy_(part(others));
  return pixels;
}

BatchAdapter adapter(bool channels_last, const Mixing& mixing, std::uint32_t accum = 1) {
  return {layout, at::kCPU, channels_last, BatchMixer(mixing, layout, seed, accum)};
}

}  // namespace

TEST_CASE("pictures are normalised to the bits of torch's operators, in either layout") {
  for (const bool channels_last : {false, true})
    for (const std::uint32_t count : {rows, 1u}) {
      FilledSlab filled(1, 0, count);
      BatchAdapter to_tensors(layout, at::kCPU, channels_last);
      const auto batch = to_tensors(filled.slab);
      CHECK(at::equal(batch.at("image"), normalised(filled.slab)));
      CHECK(batch.at("image").is_contiguous(channels_last ? at::MemoryFormat::ChannelsLast
                                                          : at::MemoryFormat::Contiguous));
      CHECK(batch.at("label").size(0) == count);
      CHECK_FALSE(batch.contains("second_label"));
    }
}

TEST_CASE("mixed batches are those that steps one after the other make") {
  for (const bool channels_last : {false, true})
    for (const Mixing& mixing :
         {Mixing{.mixup = 0.5, .erase = {.prob = 0.5}}, Mixing{.cutmix = 1, .erase = {.prob = 0.5}}})
      for (std::uint64_t iteration = 1; iteration < 20; ++iteration) {
        FilledSlab filled(iteration);
        auto to_tensors = adapter(channels_last, mixing);
        const auto batch = to_tensors(filled.slab);
        const BatchMix mix = BatchMixer(mixing, layout, seed, 1)(filled.slab);
        CHECK(at::allclose(batch.at("image"), mixed(filled.slab, mix), 1e-6, 1e-6));
        // What is not the image is let alone.
        const auto bytes = at::from_blob(filled.slab.device() + layout.offset(1), {rows, 4, 4, 1}, at::kByte);
        CHECK(at::allclose(batch.at("mask").permute({0, 2, 3, 1}), bytes.to(at::kFloat) / 255));

        const double weight = batch.at("label_weight").item<double>();
        CHECK(weight == std::max(mix.own, 1 - mix.own));
        const auto own = at::arange(6), partners = at::tensor({1, 0, 3, 2, 5, 4}, at::kLong);
        CHECK(at::equal(batch.at(mix.own >= 0.5 ? "label" : "second_label"), own));
        CHECK(at::equal(batch.at(mix.own >= 0.5 ? "second_label" : "label"), partners));
      }
}

TEST_CASE("a batch of pictures whose size the plan chose has the tensors of a batch of that size alone") {
  Field field = layout.fields()[0];
  field.shape = {height + 4, width + 3, channels}, field.free_axes = 2, field.sized = true;
  const SlabLayout sized({field, {"label", DType::i64, {}}}, rows);
  const auto device = make_cpu_device();
  const Mixing mixing{.mixup = 0.5, .erase = {.prob = 0.5}, .color = {.brightness = 0.5}};
  for (const bool channels_last : {false, true})
    for (const std::uint32_t count : {rows, 2u}) {
      FilledSlab filled(1, 0, count);
      Slab slab(sized, *device);
      slab.begin(filled.slab.ticket(), 0, count, 1, std::array{height, width});
      std::memcpy(slab.host(), filled.slab.host() + layout.offset(0), count * layout.row_bytes(0));
      std::memset(slab.host() + slab.offset(1), 0, count * sizeof(std::int64_t));
      for (std::uint32_t row = 0; row < count; ++row) slab.rows()[row].position = filled.slab.rows()[row].position;
      BatchAdapter plain(sized, at::kCPU, channels_last);
      const auto image = plain(slab).at("image");
      CHECK(at::equal(image, normalised(filled.slab)));
      CHECK(image.is_contiguous(channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous));
      BatchAdapter mixes(sized, at::kCPU, channels_last, BatchMixer(mixing, sized, seed, 1));
      auto fixed = adapter(channels_last, mixing);
      CHECK(at::equal(mixes(slab).at("image"), fixed(filled.slab).at("image")));
    }
}

TEST_CASE("a measure while training is taken against the heavier label") {
  std::uint64_t light = 1;
  const Mixing mixing{.mixup = 1};
  while (BatchMixer(mixing, layout, seed, 1)(FilledSlab(light).slab).own >= 0.5) ++light;
  FilledSlab slab(light);
  auto to_tensors = adapter(true, mixing);
  const auto batch = to_tensors(slab.slab);
  const auto accuracy = testing::make_metric("accuracy");
  // Logits that are right about the partners, whose weight is more than a half here.
  accuracy->update({{"logits", at::one_hot(at::tensor({1, 0, 3, 2, 5, 4}, at::kLong), 6).to(at::kFloat)}}, batch);
  CHECK(accuracy->value() == 1);
}

TEST_CASE("each micro-batch has draws of its own, and the same ones every time") {
  const Mixing mixing{.mixup = 1};
  const auto own = [&](std::uint64_t iteration, std::uint16_t micro, std::uint32_t accum) {
    FilledSlab filled(iteration, micro);
    return BatchMixer(mixing, layout, seed, accum)(filled.slab).own;
  };
  CHECK(own(3, 0, 2) != own(3, 1, 2));
  CHECK(own(3, 1, 2) == own(6, 0, 1));  // the stream's batch number 5, both
  CHECK(own(3, 1, 2) == own(3, 1, 2));
}

TEST_CASE("pictures are the same tensors here and where rows are finished as they are sampled") {
  struct Finished final : Sampler {
    std::vector<Field> fields() const override {
      return {{"image", DType::f32, {height, width, channels}},
              {"second_view", DType::u8, {height, width, channels}, {0.5, 0.4, 0.3}, {0.25, 0.5, 1}}};
    }
    void sample(const Record&, Stream& random, Row row) const override {
      for (std::int64_t i = 0; i < height * width * channels; ++i) {
        reinterpret_cast<float*>(row[0])[i] = static_cast<float>(random.uniform());
        row[1][i] = static_cast<std::byte>(random.uniform() * 255);
      }
    }
  };
  const auto first_row = [](const Sampler& sampler, std::byte* image, std::byte* view) {
    Stream random(1, Purpose::sample, 0);
    std::byte* row[] = {image, view};
    sampler.sample({}, random, row);
  };
  const SlabLayout one(Finished().fields(), 1);
  const auto device = make_cpu_device();
  Slab slab(one, *device);
  slab.begin({}, 0, 1, 1);
  first_row(Finished(), slab.host() + one.offset(0), slab.host() + one.offset(1));
  const auto there = BatchAdapter(one, at::kCPU, false)(slab);

  const auto sampler = with_finished_images(std::make_unique<Finished>());
  const auto shape = sampler->fields()[0].shape;
  CHECK(shape == sampler->fields()[1].shape);
  auto image = at::empty({1, shape[0], shape[1], shape[2]}), view = at::empty_like(image);
  first_row(*sampler, static_cast<std::byte*>(image.data_ptr()), static_cast<std::byte*>(view.data_ptr()));
  CHECK(at::equal(there.at("image"), image));
  CHECK(at::equal(there.at("second_view"), view));
}

TEST_CASE("batches that are not to be mixed have one label, erased or not") {
  FilledSlab filled(1);
  auto to_tensors = adapter(true, {.mixup = 1, .prob = 0, .erase = {.prob = 1, .noise = true}});
  const auto batch = to_tensors(filled.slab);
  CHECK_FALSE(batch.contains("second_label"));
  CHECK_FALSE(at::equal(batch.at("image"), normalised(filled.slab)));
  const SlabLayout without({{"image", DType::f32, {4, 4, 3}}}, 2);
  CHECK_THROWS_AS(BatchMixer({.mixup = 1}, without, seed, 1), InternalError);
}

}  // namespace flowtrain::batch_test
