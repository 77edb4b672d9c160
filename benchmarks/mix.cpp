// Measures the way from a batch's bytes to the net's input on the CPU: one fused pass, against torch's operators one
// after the other (convert, scale, shift; fill each erased box; then timm's mixup or cutmix). Prints medians, taken in
// turn in one run.
//
//     build/release/bin/bench_mix [rows] [side]

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "stages/torch/batch.h"

using namespace flowtrain;

namespace {

using at::indexing::Slice;

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Applies the matrices as products of whole pictures.
void tint_step_by_step(const BatchMix& mix, at::Tensor& pixels, at::Tensor& scratch) {
  for (std::int64_t row = 0; auto& drawn : mix.rows) {
    auto picture = pixels[row], out = scratch[row];
    ++row;
    const auto matrix = at::from_blob(const_cast<float*>(&drawn.tint.m[0][0]), {3, 3});
    const auto means = picture.mean({1, 2});
    const auto grey = 0.299 * means[0] + 0.587 * means[1] + 0.114 * means[2];
    out.copy_(at::tensordot(matrix, picture, {1}, {0}).add_(drawn.tint.lift * grey).clamp_(0, 255).round_());
    picture.copy_(out);
  }
}

/// All in place, in memory that is there: the allocator is not what is measured.
void step_by_step(const at::Tensor& bytes, const at::Tensor& scale, const at::Tensor& shift, const BatchMix* mix,
                  at::Tensor& pixels, at::Tensor& partners) {
  pixels.copy_(bytes.permute({0, 3, 1, 2}));
  if (mix && mix->tints) tint_step_by_step(*mix, pixels, partners);
  pixels.mul_(scale).add_(shift);
  if (!mix) return;
  for (std::int64_t row = 0; auto& drawn : mix->rows) {
    const auto& box = drawn.erased;
    if (box.left < box.right)
      pixels.index({row, Slice(), Slice(box.top, box.bottom), Slice(box.left, box.right)}).fill_(0);
    ++row;
  }
  if (mix->kind == BatchMix::Kind::none) return;
  const auto& cut = mix->cut;
  if (mix->kind == BatchMix::Kind::mixup) {
    partners.copy_(pixels.flip(0)).mul_(1 - mix->own);
    pixels.mul_(mix->own).add_(partners);
  } else {
    const auto part = [&](const at::Tensor& of) {
      return of.slice(2, cut.top, cut.bottom).slice(3, cut.left, cut.right);
    };
    part(pixels).copy_(part(pixels).flip(0));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const torch::NoGradGuard no_gradients;
  const auto rows = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 64);
  const std::int64_t side = argc > 2 ? std::atoi(argv[2]) : 224;
  const std::vector<double> mean{0.485, 0.456, 0.406}, stddev{0.229, 0.224, 0.225};
  const SlabLayout layout({{"image", DType::u8, {side, side, 3}, mean, stddev}, {"label", DType::i64, {}}}, rows);
  const auto device = make_cpu_device();
  Slab slab(layout, *device);
  for (std::size_t i = 0; i < layout.bytes(); ++i) slab.host()[i] = static_cast<std::byte>(mix64(i));
  const auto bytes = at::from_blob(slab.host(), {rows, side, side, 3}, at::kByte);
  const auto deviations = at::tensor(stddev, at::kFloat), means = at::tensor(mean, at::kFloat);
  const auto scale = (1 / (255 * deviations)).view({1, 3, 1, 1}), shift = (-means / deviations).view({1, 3, 1, 1});

  const std::pair<const char*, Mixing> kinds[] = {
      {"normalise", {}},
      {"normalise, erase", {.erase = {.prob = 0.25}}},
      {"normalise, mixup", {.mixup = 0.2}},
      {"normalise, cutmix", {.cutmix = 1}},
      {"normalise, erase, mixup", {.mixup = 0.2, .erase = {.prob = 0.25}}},
      {"normalise, erase, cutmix", {.cutmix = 1, .erase = {.prob = 0.25}}},
      {"normalise, colours", {.color = {.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1}}},
  };
  for (const bool channels_last : {true, false}) {
    const auto format = channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    auto pixels = torch::empty({rows, 3, side, side}, format), partners = torch::empty_like(pixels);
    std::printf("%s, %u pictures of %lld x %lld, %d threads\n", channels_last ? "NHWC" : "NCHW", rows,
                static_cast<long long>(side), static_cast<long long>(side), at::get_num_threads());
    for (auto& [name, mixing] : kinds) {
      std::optional<BatchMixer> mixer;
      if (mixing.any()) mixer.emplace(mixing, layout, 1, 1);
      BatchAdapter fused(layout, at::kCPU, channels_last, mixer);
      std::vector<double> once, steps;
      for (std::uint64_t iteration = 1; iteration <= 41; ++iteration) {
        Ticket ticket;
        ticket.iteration = iteration;
        slab.begin(ticket, 0, rows, 1);
        for (std::uint64_t row = 0; auto& work : slab.rows()) work.position = iteration * rows + row++;
        once.push_back(seconds([&] { fused(slab); }));
        const BatchMix* const mix = mixer ? &(*mixer)(slab) : nullptr;
        steps.push_back(seconds([&] { step_by_step(bytes, scale, shift, mix, pixels, partners); }));
      }
      std::printf("  %-26s %6.2f ms, step by step %6.2f ms: %.2f times as fast\n", name, 1e3 * median(once),
                  1e3 * median(steps), median(steps) / median(once));
    }
  }
}
