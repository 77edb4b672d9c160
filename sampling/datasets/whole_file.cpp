#include "sampling/datasets/whole_file.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

/// The state of zlib for reading gzip, which is always freed.
struct Inflater {
  z_stream stream{};

  Inflater() {
    constexpr int gzip_only = 15 + 16;  // the largest window; a gzip header is demanded
    if (inflateInit2(&stream, gzip_only) != Z_OK) throw InternalError("zlib cannot be set up");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

bool is_gzip(const std::vector<std::byte>& bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

}  // namespace

std::vector<std::byte> read_needed(const Files& files, std::size_t index, std::uint64_t max_bytes) {
  std::vector<std::byte> bytes;
  try {
    if (max_bytes < max_sample_bytes && files.size_bytes(index) > max_bytes)
      throw UserError(ExitCode::data, files.describe(index) + ": larger than " + std::to_string(max_bytes) + " bytes");
    files.read(index, bytes);
  } catch (const SampleError& error) {
    throw UserError(ExitCode::data, error.what());
  }
  return bytes;
}

std::vector<std::byte> read_whole(const Files& files, std::size_t index) {
  auto bytes = read_needed(files, index);
  return is_gzip(bytes) ? gunzip(bytes, files.describe(index)) : bytes;
}

std::vector<std::byte> gunzip(const std::vector<std::byte>& packed, const std::string& name) {
  constexpr std::size_t step_bytes = std::size_t{1} << 20, most_bytes = std::numeric_limits<uInt>::max();
  const auto damaged = [&](const std::string& what) {
    return UserError(ExitCode::data, name + ": damaged gzip data: " + what, "fetch the file again");
  };
  // Zeros are packed a thousandfold, data sets less than tenfold. Zeros at the start are allowed.
  constexpr std::size_t harmless_bytes = std::size_t{1} << 24, max_ratio = 100;
  Inflater inflater;
  auto& stream = inflater.stream;
  std::vector<std::byte> bytes;
  std::size_t taken = 0, written = 0;
  for (bool done = packed.empty(); !done;) {
    if (written > harmless_bytes && (written - harmless_bytes) / max_ratio > taken)
      throw UserError(ExitCode::data, name + ": the gzip data unpack to more than 100 times their size",
                      "unpack the file by hand if you trust it");
    if (written == bytes.size())
      bytes.resize(written + step_bytes);  // room doubles, but memory is used only as it is filled
    const auto input = std::min(packed.size() - taken, most_bytes), room = std::min(bytes.size() - written, most_bytes);
    // zlib's own type lacks the const; it does not write to its input.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + taken));
    stream.avail_in = static_cast<uInt>(input);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + written);
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    taken += input - stream.avail_in;
    written += room - stream.avail_out;
    if (status == Z_STREAM_END) {
      done = taken == packed.size();
      if (!done) inflateReset(&stream);  // another member follows
    } else if (status == Z_BUF_ERROR || (status == Z_OK && taken == packed.size() && written < bytes.size())) {
      throw damaged("it ends early");
    } else if (status != Z_OK) {
      throw damaged(stream.msg ? stream.msg : "it cannot be unpacked");
    }
  }
  bytes.resize(written);
  return bytes;
}

}  // namespace flowtrain
