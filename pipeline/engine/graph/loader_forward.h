#pragma once
// What a profile is told of who computes with a loader's batches.

#include "stages/trace/profile.h"

namespace flowtrain {

/// The calling thread computes a forward pass over a batch while it lives.
struct LoaderForward {
  Profile::Span span;
  Profile::StreamSpan on_stream;  ///< end() it where the device has been asked for the pass
};

}  // namespace flowtrain
