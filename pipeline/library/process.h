#pragma once
// What a process sets up once before it uses the engine.

namespace flowtrain {

/// Raises the limit of open files, sends warnings to the log unless they go elsewhere already, and lets plugins that
/// compute open LibTorch.
void prepare_process();

}  // namespace flowtrain
