#pragma once
// Random numbers for a thread that computes beside training: what it draws is missing nowhere else.

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdint>
#include <optional>

namespace flowtrain {

/// Generators of its own, on the CPU and on one device more. LibTorch's operators draw from the process's generators
/// where they are given none; a Scope gives them these. One thread at a time.
class OwnDraws {
 public:
  /// The first one tells LibTorch's dispatcher, so it is made while no other thread computes.
  explicit OwnDraws(at::Device device);

  /// As torch::manual_seed() does with the process's generators: the same numbers follow.
  void seed(std::uint64_t seed);

  /// While it lives, what its thread draws comes from these. Dropout within a GPU's fused attention and recurrent
  /// layers is not reached.
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

  /// Null where there is none for the device.
  const at::Generator* on(at::Device device) const;

 private:
  const at::Device device_;
  at::Generator cpu_;
  std::optional<at::Generator> gpu_;
};

}  // namespace flowtrain
