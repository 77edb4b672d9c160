#include "sampling/audio/resampler.h"

#include <dlfcn.h>
#include <soxr.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/io/descriptor.h"

namespace flowtrain {
namespace {

/// The functions of libsoxr that are used here, by their names without "soxr_".
struct LibSoxr {
  decltype(&soxr_create) create;
  decltype(&soxr_clear) clear;
  decltype(&soxr_delete) remove;
  decltype(&soxr_process) process;
  decltype(&soxr_quality_spec) quality;
};

template <class Function>
void find_in_soxr(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw UserError(ExitCode::data, concat("this libsoxr is too old: it lacks ", name), "install version 0.1.3");
}

const LibSoxr& libsoxr() {
  static const LibSoxr opened = [] {
    void* const library = dlopen("libsoxr.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw UserError(ExitCode::data, std::string("cannot open libsoxr, which resamples recordings: ") + dlerror(),
                      "install it (libsoxr0 in Debian and Ubuntu, soxr in Fedora), or set 'rate' to that of the "
                      "recordings");
    LibSoxr soxr{};
    find_in_soxr(library, "soxr_create", soxr.create);
    find_in_soxr(library, "soxr_clear", soxr.clear);
    find_in_soxr(library, "soxr_delete", soxr.remove);
    find_in_soxr(library, "soxr_process", soxr.process);
    find_in_soxr(library, "soxr_quality_spec", soxr.quality);
    return soxr;
  }();
  return opened;
}

/// A state of libsoxr for two rates. Each thread keeps some, as making them costs more than clearing them.
class ResamplerState {
 public:
  ResamplerState() = default;
  ResamplerState(const ResamplerState&) = delete;
  ResamplerState& operator=(const ResamplerState&) = delete;
  ~ResamplerState() { remove(); }

  bool is_for(std::uint32_t channels, double from, std::uint32_t to) const {
    return state_ && channels == channels_ && from == from_ && to == to_;
  }

  void open(std::uint32_t channels, double from, std::uint32_t to) {
    remove();
    const auto quality = libsoxr().quality(SOXR_HQ, 0);
    soxr_error_t error = nullptr;
    state_ = libsoxr().create(from, to, channels, &error, nullptr, &quality, nullptr);
    check(error);
    channels_ = channels, from_ = from, to_ = to;
  }

  void run(const std::vector<float>& samples, std::vector<float>& into) {
    const std::size_t frames = samples.size() / channels_;
    const auto made = static_cast<std::size_t>(resampled_frames(frames, from_, to_));
    if (made > max_sample_bytes / sizeof(float) / channels_)
      throw SampleError(concat(frames, " frames at ", from_, " Hz are ", made, " at ", to_,
                               " Hz, more than a sample may have (1 GiB): its header may have a wrong rate"));
    into.resize(made * channels_);
    std::size_t used = 0, done = 0;
    check(libsoxr().process(state_, samples.data(), frames, &used, into.data(), made, &done));
    while (done < made) {  // null input drains what the filters still hold
      std::size_t more = 0;
      check(libsoxr().process(state_, nullptr, 0, nullptr, into.data() + done * channels_, made - done, &more));
      if (more == 0) break;
      done += more;
    }
    std::fill(into.begin() + static_cast<std::ptrdiff_t>(done * channels_), into.end(), 0.0f);
    check(libsoxr().clear(state_));
  }

 private:
  void remove() {
    if (state_) libsoxr().remove(std::exchange(state_, nullptr));
  }

  /// Throws SampleError for an error, after which the state cannot be used again.
  void check(soxr_error_t error) {
    if (!error) return;
    remove();
    throw SampleError(concat("it cannot be resampled: ", error));
  }

  soxr_t state_ = nullptr;
  std::uint32_t channels_ = 0, to_ = 0;
  double from_ = 0;
};

}  // namespace

std::int64_t resampled_frames(std::uint64_t frames, double from, std::uint32_t to) {
  return from == to ? static_cast<std::int64_t>(frames)
                    : std::llround(static_cast<double>(frames) * static_cast<double>(to) / from);
}

void resample(std::vector<float>& samples, std::uint32_t channels, double from, std::uint32_t to) {
  if (from == to) return;
  thread_local std::array<ResamplerState, 8> states;
  thread_local std::size_t oldest = 0;
  thread_local std::vector<float> result;
  std::size_t at = 0;
  while (at < states.size() && !states[at].is_for(channels, from, to)) ++at;
  if (at == states.size()) states[at = oldest++ % states.size()].open(channels, from, to);
  states[at].run(samples, result);
  samples.swap(result);
}

}  // namespace flowtrain
