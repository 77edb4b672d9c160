#include "pipeline/inference/export/convert.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

void convert(const std::string& python, const Conversion& conversion) {
  std::string program = python, option = "-c", text(convert_script), format = conversion.format,
              script = conversion.script, samples = conversion.samples, out = conversion.out;
  const std::array<char*, 8> arguments{program.data(), option.data(),  text.data(), format.data(),
                                       script.data(),  samples.data(), out.data(),  nullptr};
  pid_t child = 0;
  if (const int error = ::posix_spawnp(&child, python.c_str(), nullptr, nullptr, arguments.data(), ::environ))
    throw UserError(ExitCode::usage, concat("--python ", python, ": ", std::strerror(error)),
                    "name a Python that has torch");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  constexpr int disagrees = 9;  // convert.py
  if (WIFEXITED(status) && WEXITSTATUS(status) == disagrees)
    throw UserError(ExitCode::data,
                    concat("--format ", conversion.format, ": the outputs differ from those of the net"),
                    "the difference is above, and no file was written; --format safetensors writes only the weights");
  throw UserError(ExitCode::usage,
                  concat("--format ", conversion.format, ": ", python,
                         WIFEXITED(status) ? " ended with exit code " : " was killed by signal ",
                         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)),
                  "the reason is above; --format torchscript needs no Python");
}

}  // namespace flowtrain
