#include "pipeline/base/launch/gpus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "pipeline/base/launch/launchers.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "stages/device/nvml.h"

namespace flowtrain {
namespace {

constexpr char visible_variable[] = "CUDA_VISIBLE_DEVICES";
constexpr char forms[] = "Give numbers from 0 (0,2), or idle:N for N idle GPUs; nvidia-smi lists them.";

using Words = std::vector<std::string>;

UserError refusal(const std::string& requested, const std::string& reason) {
  return UserError(ExitCode::usage, "--gpus " + requested + ": " + reason, forms);
}

Words split(const std::string& list) {
  Words words(1);
  for (const char c : list) {
    if (c == ',')
      words.emplace_back();
    else if (c != ' ')
      words.back() += c;
  }
  return words;
}

std::optional<std::size_t> number(const std::string& word) { return parse_number<std::size_t>(word); }

bool is_uuid(const std::string& word) { return word.starts_with("GPU-") || word.starts_with("MIG-"); }

std::string chosen_by_list(const std::string& requested, const std::optional<Words>& visible) {
  Words chosen;
  for (auto& word : split(requested)) {
    const auto index = number(word);
    if (!index && !is_uuid(word)) throw refusal(requested, "'" + word + "' is not a GPU");
    if (index && visible && *index >= visible->size())
      throw refusal(requested, concat("there is no GPU ", *index, " among those of ", visible_variable, " = ",
                                      join(*visible, ",")));
    chosen.push_back(index && visible ? (*visible)[*index] : word);
    if (std::count(chosen.begin(), chosen.end(), chosen.back()) > 1) throw refusal(requested, word + " is given twice");
  }
  return join(chosen, ",");
}

std::string describe(std::size_t index, const GpuUse& gpu) {
  constexpr double gib = 1u << 30;
  return concat("GPU ", index, ": ", gpu.processes, " processes, ", std::llround(static_cast<double>(gpu.used) / gib),
                " of ", std::llround(static_cast<double>(gpu.memory) / gib), " GiB used");
}

std::string chosen_idle(const std::string& requested, const std::optional<Words>& visible,
                        const std::vector<GpuUse>& gpus) {
  const auto wanted = number(requested.substr(requested.find(':') + 1));
  if (!wanted || *wanted == 0) throw refusal(requested, "expected idle:N, N at least 1");
  std::vector<std::size_t> idle;
  std::string busy;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto is_this = [&](const std::string& word) {
      return number(word) == i || (is_uuid(word) && gpus[i].uuid.starts_with(word));
    };
    if (visible && std::none_of(visible->begin(), visible->end(), is_this)) continue;
    if (gpus[i].processes == 0)
      idle.push_back(i);
    else
      busy += "; " + describe(i, gpus[i]);
  }
  if (idle.size() < *wanted)
    throw refusal(requested, concat("only ", idle.size(), idle.size() == 1 ? " is" : " are", " idle", busy));
  std::ranges::stable_sort(idle, std::greater(), [&](std::size_t i) { return gpus[i].memory - gpus[i].used; });
  return join(std::span(idle).first(*wanted), ",", [&](std::size_t i) { return gpus[i].uuid; });
}

}  // namespace

std::vector<GpuUse> query_gpus(const std::string& nvml) try {
  constexpr int insufficient_size = 7;  // the list is too short for all processes, but the count is right
  const Nvml driver(nvml);
  unsigned count = 0;
  driver.call("nvmlDeviceGetCount_v2", {0}, &count);
  std::vector<GpuUse> all;
  for (unsigned i = 0; i < count; ++i) {
    Nvml::Gpu gpu = nullptr;
    std::array<char, 96> uuid{};
    Nvml::Memory memory{};
    unsigned processes = 0;
    driver.call("nvmlDeviceGetHandleByIndex_v2", {0}, i, &gpu);
    driver.call("nvmlDeviceGetUUID", {0}, gpu, uuid.data(), static_cast<unsigned>(uuid.size()));
    driver.call("nvmlDeviceGetMemoryInfo", {0}, gpu, &memory);
    driver.call("nvmlDeviceGetComputeRunningProcesses", {0, insufficient_size}, gpu, &processes,
                static_cast<void*>(nullptr));
    all.push_back({uuid.data(), processes, memory.used, memory.total});
  }
  return all;
} catch (const std::runtime_error& error) {
  throw UserError(ExitCode::usage, std::string("the GPUs cannot be listed: ") + error.what(),
                  "Look at nvidia-smi, or name them: --gpus 0,1.");
}

std::optional<std::string> choose_gpus(const std::string& requested, const Environment& environment,
                                       const std::function<std::vector<GpuUse>()>& look) {
  if (spawned_place(environment)) return std::nullopt;
  const auto now = environment(visible_variable);
  const auto visible = now ? std::optional(now->empty() ? Words{} : split(*now)) : std::nullopt;
  if (!requested.starts_with("idle:")) return chosen_by_list(requested, visible);
  if (detect_launcher(environment, false))
    throw refusal(requested, "each of the launcher's processes would choose for itself");
  return chosen_idle(requested, visible, look());
}

}  // namespace flowtrain
