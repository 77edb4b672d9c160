#pragma once
// Operators of the library `flowtrain` behind torch's dispatcher. Within nets/cornernet.

#include <ATen/core/dispatch/Dispatcher.h>

namespace flowtrain::nets::cornernet {

/// The operator of that name, with the signature of its kernels. Throws c10::Error where there is none.
template <class Signature>
auto operator_named(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

}  // namespace flowtrain::nets::cornernet
