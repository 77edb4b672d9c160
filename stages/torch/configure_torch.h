#pragma once
// LibTorch's own settings.

namespace flowtrain {

class Settings;

/// Those of [run], for the whole process. `processes_here`: how many share the machine's cores.
void conscalar_torch(const Settings& run, unsigned processes_here);

}  // namespace flowtrain
