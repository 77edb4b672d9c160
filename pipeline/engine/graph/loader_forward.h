#pragma once
// Records computation on a loader's batches in its profile.

#include "stages/trace/profile.h"

namespace flowtrain {

/// Records a forward pass of the calling thread over a batch while it lives.
struct LoaderForward {
  Profile::Span span;
  Profile::StreamSpan on_stream;  ///< the caller ends it once the device has the whole pass in its queue
};

}  // namespace flowtrain
