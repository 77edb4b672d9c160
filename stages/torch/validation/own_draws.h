#pragma once
// A thread that computes beside training draws from generators of its own, so that training draws what it would draw
// alone.

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdint>
#include <optional>

namespace flowtrain {

/// Has generators of its own, on the CPU and on one device more. LibTorch's operators draw from the process's
/// generators if they are given none; a Scope gives them these. One thread at a time uses it.
class OwnDraws {
 public:
  /// The first one tells LibTorch's dispatcher, so it is made while no other thread computes.
  explicit OwnDraws(at::Device device);

  /// Seeds them, as torch::manual_seed() seeds the process's generators: the same numbers follow.
  void seed(std::uint64_t seed);

  /// Lets its thread draw from these while it lives. It does not reach dropout within a GPU's fused attention and
  /// recurrent layers.
  class Scope {
   public:
    explicit Scope(OwnDraws& draws);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    c10::impl::IncludeDispatchKeyGuard enters_;
    OwnDraws* const before_;
  };

  /// Returns null if there is none for the device.
  const at::Generator* on(at::Device device) const;

 private:
  const at::Device device_;
  at::Generator cpu_;
  std::optional<at::Generator> gpu_;
};

}  // namespace flowtrain
