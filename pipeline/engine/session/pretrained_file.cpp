#include "pipeline/engine/session/pretrained_file.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "pipeline/base/errors/leaders_work.h"
#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/cache_folder.h"
#include "sampling/core/parse.h"
#include "sampling/core/reads_until.h"
#include "sampling/core/settings.h"
#include "sampling/remote/remote.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = 4 << 20;

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
      throw InternalError("SHA-256 cannot be begun");
  }
  void update(std::span<const std::byte> bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  std::string hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), digest, &size);
    std::string text;
    for (unsigned int i = 0; i < size; ++i) {
      constexpr char digits[] = "0123456789abcdef";
      text += {digits[digest[i] >> 4], digits[digest[i] & 15]};
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

std::string sha256_of(const fs::path& path) {
  Sha256 hash;
  File file = File::open(path);
  std::vector<std::byte> piece(piece_bytes);
  while (const std::size_t got = file.read(piece)) hash.update(std::span(piece).first(got));
  return hash.hex();
}

// Returns it in lower case; empty if none is given.
std::string wanted_sha256(const Settings& net) {
  std::string wanted = lower_case(net.text("sha256"));
  if (wanted.empty() || (wanted.size() == 64 && wanted.find_first_not_of("0123456789abcdef") == wanted.npos))
    return wanted;
  throw net.error("sha256", "expected 64 hexadecimal digits, as sha256sum prints them");
}

fs::path kept_weights(const Settings& net) {
  if (auto folder = cache_folder("weights"); !folder.empty()) return folder;
  throw net.error("pretrain", "there is no folder to keep the fetched file in", ExitCode::usage,
                  "set XDG_CACHE_HOME, or fetch the file and name its path");
}

UserError another_file(const Settings& net, const std::string& what, const std::string& found, ExitCode code) {
  return net.error("pretrain", concat(what, " is not the file that net.sha256 says: its SHA-256 is ", found), code,
                   "see where the sum comes from; a server may have a newer file, or none and a page that says so");
}

// Writes the whole file to `kept`, or nothing.
void fetch(const Settings& net, const std::string& address, const std::string& wanted, const fs::path& kept,
           Interrupt* interrupt) try {
  const Interrupt::Deferral whole(interrupt);  // An interruption first removes the unfinished file.
  const auto access = std::make_shared<const RemoteAccess>(HttpClient::Patience{}, nullptr);
  const ReadsUntil until(interrupt ? interrupt->token() : std::stop_token());
  const RemoteFile file(address, access);
  log_info(concat("fetching ", format_bytes(file.size_bytes()), " from ", public_name(address)));
  Sha256 hash;
  write_file_atomically(kept, [&](File& into) {
    std::vector<std::byte> piece(piece_bytes);
    for (std::uint64_t at = 0; at < file.size_bytes();) {
      if (ReadsUntil::token().stop_requested()) throw RemoteError("interrupted");
      const std::size_t got = file.read_at(at, piece);
      hash.update(std::span(piece).first(got));
      into.write(std::span(piece).first(got));
      at += got;
    }
    if (const auto found = hash.hex(); found != wanted)
      throw another_file(net, public_name(address), found, ExitCode::data);
  });
} catch (const RemoteError& error) {
  throw net.error("pretrain", concat(public_name(address), ": ", error.what()), ExitCode::data, error.hint());
}

fs::path checked_file(const Settings& net, Interrupt* interrupt) {
  const std::string& named = net.text("pretrain");
  const std::string wanted = wanted_sha256(net);
  if (!is_remote(named)) {
    if (!fs::exists(named)) throw net.error("pretrain", "no such file: " + named);
    if (fs::is_directory(named))
      throw net.error(
          "pretrain", named + " is a folder", ExitCode::usage,
          "name the file in it: model.safetensors, pytorch_model.bin, or model.safetensors.index.json where the "
          "weights are in several files");
    if (wanted.empty()) return named;
    if (const auto found = sha256_of(named); found != wanted) throw another_file(net, named, found, ExitCode::usage);
    return named;
  }
  if (wanted.empty())
    throw net.error("pretrain", "an address needs net.sha256, which proves that the file is right", ExitCode::usage,
                    "ask the publisher of the file for its SHA-256, or run sha256sum FILE");
  const fs::path folder = kept_weights(net);
  fs::path kept = folder / wanted;
  if (fs::exists(kept) && sha256_of(kept) == wanted) return kept;
  make_folders(folder);
  fetch(net, named, wanted, kept, interrupt);
  return kept;
}

}  // namespace

fs::path pretrained_file(const Settings& net, Group& group, Interrupt* interrupt) {
  fs::path file;
  let_leader_work(group, "the wait for net.pretrain", [&] { file = checked_file(net, interrupt); });
  return file;
}

}  // namespace flowtrain
