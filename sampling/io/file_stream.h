#pragma once
// A part of a file as a standard stream, for files too large to be held whole.

#include <cstdint>
#include <streambuf>
#include <string>
#include <vector>

#include "sampling/io/descriptor.h"

namespace flowtrain {

/// Reads `size_bytes` bytes from `offset` on, some at a time. What cannot be read or ends early is a UserError(data)
/// that begins with `name`. The descriptor must outlive it.
class FileBuffer : public std::streambuf {
 public:
  FileBuffer(const Descriptor& file, std::uint64_t offset, std::uint64_t size_bytes, std::string name);

 protected:
  int_type underflow() override;

 private:
  const Descriptor& file_;
  std::uint64_t next_, end_;
  std::string name_;
  std::vector<char> block_;
};

}  // namespace flowtrain
