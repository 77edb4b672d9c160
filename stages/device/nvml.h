#pragma once
// The NVIDIA driver's library for monitoring GPUs, opened on demand.

#include <dlfcn.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "sampling/core/text.h"

namespace flowtrain {

/// Calls functions by their names. Signatures are those of nvml.h, whose functions return 0 for success.
class Nvml {
 public:
  using Gpu = void*;

  /// `name` is the library's. Throws std::runtime_error if there is no driver, or it does not answer.
  explicit Nvml(const std::string& name = "libnvidia-ml.so.1") : library_(dlopen(name.c_str(), RTLD_NOW)) {
    if (library_ == nullptr) throw std::runtime_error("the NVIDIA driver is not on this machine (" + name + ")");
    call("nvmlInit_v2", {0});
  }
  ~Nvml() { static_cast<void>(function<int()>("nvmlShutdown")()); }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Calls `name` with `arguments`. Throws std::runtime_error for every result that is not among `good`.
  template <class... Arguments>
  void call(const char* name, std::initializer_list<int> good, Arguments... arguments) const {
    const int result = function<int(Arguments...)>(name)(arguments...);
    if (std::ranges::find(good, result) == good.end())
      throw std::runtime_error(concat(name, " fails with code ", result));
  }

  /// nvmlMemory_t
  struct Memory {
    unsigned long long total, free, used;  ///< bytes
  };
  /// nvmlUtilization_t
  struct Utilization {
    unsigned gpu, memory;  ///< percent of the time since the last sample
  };

 private:
  template <class Signature>
  Signature* function(const char* name) const {
    void* address = dlsym(library_, name);
    if (address == nullptr) throw std::runtime_error(std::string("its library lacks ") + name);
    return reinterpret_cast<Signature*>(address);
  }

  void* library_;  // stays open: CUDA needs the same driver soon
};

}  // namespace flowtrain
