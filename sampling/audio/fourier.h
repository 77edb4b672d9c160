#pragma once
// Fourier transforms of many frames at once: each lane of a vector holds one frame, so the bits of a frame depend
// neither on the width of this processor's vectors nor on the frames beside it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flowtrain {

/// The tables of the complex Fourier transform of `size` numbers, computed by Stockham's algorithm with mixed radices
/// (C. Van Loan, "Computational Frameworks for the Fast Fourier Transform", 1992, 1.7).
struct FourierPlan {
  /// The greatest prime factor of a size.
  static constexpr std::size_t greatest_prime = 31;

  FourierPlan() = default;
  /// Takes a size > 0 without a prime factor beyond greatest_prime; throws InternalError for others.
  explicit FourierPlan(std::size_t size);
  /// Returns whether a size has no prime factor beyond greatest_prime.
  static bool takes(std::size_t size);

  struct Stage {
    std::size_t radix, twiddles, roots;  ///< places of its tables in `table`
  };
  std::size_t size = 0;
  std::vector<Stage> stages = {};
  std::vector<float> table = {};  ///< cosines and sines in turns
};

/// A filter of the mel scale: the weights of neighbouring frequencies.
struct MelBand {
  std::size_t first = 0;  ///< index of the first frequency, 0 … size / 2
  std::vector<float> weights = {};
};

/// All that decides the logarithms of a frame's mel energies.
struct FramePlan {
  std::size_t length = 0;  ///< samples of a frame
  std::size_t hop = 0;     ///< samples from one frame to the next
  std::size_t size = 0;    ///< samples of the transform, even; those beyond `length` are 0
  std::vector<float> window = {};
  bool removes_mean = false;
  float preemphasis = 0;
  std::vector<MelBand> bands = {};
  float least = 0, offset = 0, factor = 1;  ///< a value is log(max(energy, least) + offset) · factor
  float least_energy = 0;                   ///< bound of a frame's own energy before its logarithm
  FourierPlan fourier = {};                 ///< plan for size / 2
  std::vector<float> split = {};            ///< cosines and sines that part the halves of a real transform
};

/// Writes log mel energies of `frames` > 0 frames, of which frame t begins at samples[t · hop]: value b of frame t goes
/// to to[t · stride + b]. `energies`, if it is not null, gets the logarithm of each frame's energy before pre-emphasis
/// and window.
void log_mel(const FramePlan& plan, const float* samples, std::size_t frames, float* to, std::size_t stride,
             float* energies);

/// Convolves a signal with an impulse response, whose first value is at time 0, in place; what rings beyond the
/// signal's end is cut off. Blocks go through Fourier transforms, and the result of each sample is the same on all
/// processors.
void convolve(std::span<float> signal, std::span<const float> response);

}  // namespace flowtrain
