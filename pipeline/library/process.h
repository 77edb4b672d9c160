#pragma once
// Settings that a process makes once before it uses the engine.

namespace flowtrain {

/// Raises the limit of open files, sends warnings to the log unless they go elsewhere already, lets plugins that
/// compute open LibTorch, and opens plugins that a snapshot's configuration names only where the snapshot is whole.
void prepare_process();

}  // namespace flowtrain
