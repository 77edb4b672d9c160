#include "sampling/audio/features.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "sampling/core/random.h"

namespace flowtrain {
namespace {

using std::numbers::pi;
constexpr double decibels_of_log = 4.342944819032518;  // 10 / ln(10)

/// The mel scales: HTK's, and Slaney's Auditory Toolbox's, which is linear below 1 kHz.
class MelScale {
 public:
  explicit MelScale(bool slaney) : slaney_(slaney) {}
  double mel(double hertz) const {
    if (!slaney_) return 1127 * std::log(1 + hertz / 700);
    return hertz < 1000 ? hertz * 3 / 200 : 15 + std::log(hertz / 1000) * 27 / std::log(6.4);
  }
  double hertz(double mel) const {
    if (!slaney_) return 700 * (std::exp(mel / 1127) - 1);
    return mel < 15 ? mel * 200 / 3 : 1000 * std::exp((mel - 15) * std::log(6.4) / 27);
  }

 private:
  bool slaney_;
};

/// Returns triangular filters: Kaldi's are straight on the mel scale, the others on that of frequencies.
std::vector<MelBand> mel_bands(const FeatureOptions& options) {
  const MelScale scale(options.slaney);
  const bool is_kaldi = options.values == FeatureValues::kaldi;
  const double low = scale.mel(options.low), step = (scale.mel(options.high) - low) / double(options.bins + 1);
  const auto edge = [&](std::size_t i) {
    const double mel = low + double(i) * step;
    return is_kaldi ? mel : scale.hertz(mel);
  };
  // Kaldi's filters leave out the greatest frequency.
  const std::size_t frequencies = options.size / 2 + (is_kaldi ? 0 : 1);
  std::vector<MelBand> bands(options.bins);
  for (std::size_t b = 0; b < options.bins; ++b) {
    const double left = edge(b), centre = edge(b + 1), right = edge(b + 2);
    const double area = options.slaney && !is_kaldi ? 2 / (right - left) : 1;
    for (std::size_t k = 0; k < frequencies; ++k) {
      const double hertz = double(k) * options.rate / double(options.size);
      const double at = is_kaldi ? scale.mel(hertz) : hertz;
      const double weight = std::min((at - left) / (centre - left), (right - at) / (right - centre));
      if (!(weight > 0)) continue;
      auto& band = bands[b];
      if (band.weights.empty()) band.first = k;
      band.weights.resize(k - band.first + 1);
      band.weights.back() = static_cast<float>(weight * area);
    }
  }
  return bands;
}

/// Returns a window: Kaldi's are symmetric, the others periodic.
std::vector<float> window_of(const FeatureOptions& options) {
  std::vector<float> window(options.length);
  const double period = double(options.values == FeatureValues::kaldi ? options.length - 1 : options.length);
  for (std::size_t i = 0; i < window.size(); ++i) {
    const double angle = 2 * pi * double(i) / period;
    double value = 1;
    if (options.window == "hann") value = 0.5 - 0.5 * std::cos(angle);
    if (options.window == "povey") value = std::pow(0.5 - 0.5 * std::cos(angle), 0.85);
    if (options.window == "hamming") value = 0.54 - 0.46 * std::cos(angle);
    if (options.window == "blackman") value = 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle);
    window[i] = static_cast<float>(value * options.amplitude);
  }
  return window;
}

}  // namespace

FeatureExtractor::FeatureExtractor(FeatureOptions options) : options_(std::move(options)) {
  const auto& o = options_;
  if (o.length < 2 || o.hop < 1)
    throw FeatureMistake("frame_ms", "a frame has less than 2 samples, or there is no hop",
                         "make frames longer, or raise rate");
  if (o.size < o.length || o.size % 2 != 0 || !FourierPlan::takes(o.size / 2))
    throw FeatureMistake("n_fft", "n_fft must be even, have no prime factor beyond 31, and not be shorter than a frame",
                         "change n_fft, or leave it out");
  if (!(o.low >= 0 && o.low < o.high && o.high <= o.rate / 2.0))
    throw FeatureMistake(o.high > o.rate / 2.0 || o.high <= 0 ? "f_max" : "f_min",
                         "0 <= f_min < f_max <= rate / 2 must hold", "change these keys, or leave them out");
  if (o.coefficients > o.bins)
    throw FeatureMistake("coefficients", "there are more coefficients than bins",
                         "change coefficients, or leave it out");

  const bool is_kaldi = o.values == FeatureValues::kaldi;
  plan_ = {.length = o.length, .hop = o.hop, .size = o.size, .window = window_of(o)};
  plan_.removes_mean = is_kaldi;
  plan_.preemphasis = static_cast<float>(o.preemphasis);
  plan_.bands = mel_bands(o);
  const bool adds = o.values == FeatureValues::torchaudio && !o.decibels;
  plan_.least = adds ? std::numeric_limits<float>::min() : static_cast<float>(o.least);
  plan_.offset = adds ? static_cast<float>(o.least) : 0;
  plan_.factor = static_cast<float>(o.decibels ? decibels_of_log : 1);
  if (o.values == FeatureValues::whisper) plan_.factor = static_cast<float>(decibels_of_log / 10);
  const double scale = o.amplitude * o.amplitude;  // the window has it, but energies are taken before
  plan_.least_energy =
      static_cast<float>(std::max(double{std::numeric_limits<float>::epsilon()}, o.least_energy) / scale);
  plan_.fourier = FourierPlan(o.size / 2);
  for (std::size_t k = 0; k <= o.size / 2; ++k) {
    const double angle = 2 * pi * double(k) / double(o.size);
    plan_.split.push_back(static_cast<float>(std::cos(angle)));
    plan_.split.push_back(static_cast<float>(std::sin(angle)));
  }
  const std::size_t inside = is_kaldi ? 0 : (o.size - o.length) / 2;  // place of the window within the transform
  if (o.snips)
    skipped_ = inside;
  else
    before_ = static_cast<std::int64_t>(is_kaldi ? o.length / 2 : o.size / 2 - inside) -
              static_cast<std::int64_t>(is_kaldi ? o.hop / 2 : 0);

  for (std::size_t b = 0; b < o.bins; ++b)
    for (std::size_t c = 0; c < o.coefficients; ++c) {
      const double lift = o.lifter > 0 ? 1 + 0.5 * o.lifter * std::sin(pi * double(c) / o.lifter) : 1;
      const double norm = std::sqrt((c == 0 ? 1.0 : 2.0) / double(o.bins));
      cosines_.push_back(
          static_cast<float>(lift * norm * std::cos(pi / double(o.bins) * (double(b) + 0.5) * double(c))));
    }
}

std::size_t FeatureExtractor::empty_filters() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(plan_.bands, [](const MelBand& band) { return band.weights.empty(); }));
}

std::int64_t FeatureExtractor::frames(std::int64_t samples) const {
  const auto length = static_cast<std::int64_t>(options_.length), hop = static_cast<std::int64_t>(options_.hop);
  const bool is_kaldi = options_.values == FeatureValues::kaldi;
  const auto whole = is_kaldi ? length : static_cast<std::int64_t>(options_.size);
  if (options_.snips) return samples < whole ? 0 : 1 + (samples - whole) / hop;
  if (is_kaldi) return (samples + hop / 2) / hop;
  // The others reflect half a transform at both ends, and have none for fewer samples than that.
  if (samples <= static_cast<std::int64_t>(options_.size / 2)) return 0;
  return options_.values == FeatureValues::whisper ? samples / hop : 1 + samples / hop;
}

std::span<const float> FeatureExtractor::padded(std::span<const float> samples) const {
  if (options_.snips) return samples.subspan(skipped_);
  thread_local std::vector<float> all;
  const auto count = static_cast<std::int64_t>(samples.size());
  const auto frames = this->frames(count);
  all.resize((static_cast<std::size_t>(frames) - 1) * options_.hop + options_.length);
  // Kaldi repeats the sample at the end that it reflects, the others do not.
  const bool repeats = options_.values == FeatureValues::kaldi;
  const auto at_end = [&](std::int64_t i) {
    while (i < 0 || i >= count) i = i < 0 ? (repeats ? -i - 1 : -i) : 2 * count - (repeats ? 1 : 2) - i;
    return samples[static_cast<std::size_t>(i)];
  };
  const auto size = static_cast<std::int64_t>(all.size());
  const auto begin = std::clamp<std::int64_t>(before_, 0, size), end = std::clamp(before_ + count, begin, size);
  for (std::int64_t i = 0; i < begin; ++i) all[static_cast<std::size_t>(i)] = at_end(i - before_);
  std::copy_n(samples.begin() + (begin - before_), end - begin, all.begin() + begin);
  for (auto i = end; i < size; ++i) all[static_cast<std::size_t>(i)] = at_end(i - before_);
  return all;
}

void FeatureExtractor::operator()(std::span<const float> samples, float* to) const {
  const auto& o = options_;
  const auto count = static_cast<std::size_t>(frames(static_cast<std::int64_t>(samples.size())));
  thread_local std::vector<float> mels, energies;
  if (o.coefficients) mels.resize(count * o.bins);
  if (o.energy) energies.resize(count);
  float* const values = o.coefficients ? mels.data() : to;
  log_mel(plan_, padded(samples).data(), count, values, o.bins, o.energy ? energies.data() : nullptr);

  const std::span<float> all(values, count * o.bins);
  if (o.values == FeatureValues::whisper) {
    const float least = *std::ranges::max_element(all) - 8;
    for (float& each : all) each = (std::max(each, least) + 4) / 4;
  } else if (o.decibels && o.range > 0) {
    const float least = *std::ranges::max_element(all) - static_cast<float>(o.range);
    for (float& each : all) each = std::max(each, least);
  }
  if (!o.coefficients) return;
  const float level = static_cast<float>(2 * std::log(o.amplitude));
  for (std::size_t t = 0; t < count; ++t) {
    float* const row = to + t * o.coefficients;
    std::fill_n(row, o.coefficients, 0.0f);
    for (std::size_t b = 0; b < o.bins; ++b) {
      const float value = values[t * o.bins + b];
      const float* const cosine = cosines_.data() + b * o.coefficients;
      for (std::size_t c = 0; c < o.coefficients; ++c) row[c] += cosine[c] * value;
    }
    if (o.energy) row[0] = energies[t] + level;
  }
}

namespace {

/// Moves the frame at `from` to `to`, and the others in proportion; values between two frames are interpolated.
void warp_time(std::span<float> features, std::size_t width, std::int64_t from, std::int64_t to) {
  thread_local std::vector<float> source;
  source.assign(features.begin(), features.end());
  const auto frames = static_cast<std::int64_t>(features.size() / width);
  for (std::int64_t t = 0; t < frames; ++t) {
    const double at = t < to ? double(t) * double(from) / double(to)
                             : double(from) + double(t - to) * double(frames - 1 - from) / double(frames - 1 - to);
    const auto first = std::min(static_cast<std::size_t>(at), static_cast<std::size_t>(frames - 1));
    const auto second = std::min(first + 1, static_cast<std::size_t>(frames - 1));
    const auto share = static_cast<float>(at - double(first));
    for (std::size_t b = 0; b < width; ++b) {
      const float low = source[first * width + b];
      features[static_cast<std::size_t>(t) * width + b] = low + share * (source[second * width + b] - low);
    }
  }
}

/// The beginning and the end of a mask.
struct MaskRange {
  std::size_t begin, end;
};

MaskRange draw_mask(Stream& random, std::int64_t most, std::size_t size) {
  const auto greatest = std::min<std::uint64_t>(static_cast<std::uint64_t>(std::max<std::int64_t>(0, most)), size);
  const auto width = random.below(greatest + 1);
  const auto begin = random.below(size - width + 1);
  return {begin, begin + width};
}

}  // namespace

void augment_spectrum(const SpecAugment& augment, Stream& random, std::span<float> features, std::size_t width) {
  const std::size_t frames = features.size() / width;
  const auto count = static_cast<std::int64_t>(frames);
  if (const auto w = augment.time_warp; w > 0 && count > 2 * w + 2) {
    const auto from = w + 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count - 2 * w - 2)));
    const auto to = from - w + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(2 * w + 1)));
    warp_time(features, width, from, to);
  }
  if (augment.frequency_masks == 0 && augment.time_masks == 0) return;
  double sum = 0;
  for (const float each : features) sum += each;
  const auto mean = static_cast<float>(sum / double(features.size()));
  for (std::int64_t i = 0; i < augment.frequency_masks; ++i) {
    const auto mask = draw_mask(random, augment.frequency_mask, width);
    for (std::size_t t = 0; t < frames; ++t)
      std::fill(features.begin() + std::ptrdiff_t(t * width + mask.begin),
                features.begin() + std::ptrdiff_t(t * width + mask.end), mean);
  }
  const auto longest = static_cast<std::int64_t>(augment.time_share * double(frames));
  for (std::int64_t i = 0; i < augment.time_masks; ++i) {
    const auto mask = draw_mask(random, std::min(augment.time_mask, longest), frames);
    std::fill(features.begin() + std::ptrdiff_t(mask.begin * width),
              features.begin() + std::ptrdiff_t(mask.end * width), mean);
  }
}

void FeatureSums::add(std::span<const float> features) {
  const std::size_t width = sum.size();
  for (std::size_t at = 0; at < features.size(); at += width)
    for (std::size_t b = 0; b < width; ++b) {
      const double value = features[at + b];
      sum[b] += value;
      squares[b] += value * value;
    }
  const std::size_t count = features.size() / width;
  frames += double(count);
}

void FeatureSums::add(const FeatureSums& other) {
  frames += other.frames;
  for (std::size_t b = 0; b < sum.size(); ++b) sum[b] += other.sum[b], squares[b] += other.squares[b];
}

void FeatureScale::set(const FeatureSums& sums, bool variance) {
  constexpr double least_deviation = 1e-5;
  mean.resize(sums.sum.size());
  factor.resize(mean.size());
  for (std::size_t b = 0; b < mean.size(); ++b) {
    const double centre = sums.sum[b] / sums.frames;
    const double deviation = std::sqrt(std::max(0.0, sums.squares[b] / sums.frames - centre * centre));
    mean[b] = static_cast<float>(centre);
    factor[b] = variance ? static_cast<float>(1 / std::max(deviation, least_deviation)) : 1.0f;
  }
}

void FeatureScale::apply(std::span<float> features) const {
  for (std::size_t at = 0; at < features.size(); at += mean.size())
    for (std::size_t b = 0; b < mean.size(); ++b) features[at + b] = (features[at + b] - mean[b]) * factor[b];
}

}  // namespace flowtrain
