#include "pipeline/inference/predict/output_file.h"

#include <cerrno>
#include <cstring>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

[[noreturn]] void fail(const std::string& name, int reason) {
  throw UserError(ExitCode::snapshot, concat("cannot write ", name, ": ", std::strerror(reason)));
}

}  // namespace

OutputFile::OutputFile(const std::string& path)
    : name_(path == "-" ? "to standard output" : path), file_(path == "-" ? stdout : std::fopen(path.c_str(), "we")) {
  if (!file_) fail(name_, errno);
}

OutputFile::~OutputFile() {
  if (file_ != stdout) std::fclose(file_);
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0) fail(name_, errno);
}

}  // namespace flowtrain
