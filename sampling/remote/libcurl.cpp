#include "sampling/remote/libcurl.h"

#include <dlfcn.h>

#include <string>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

// Debian has the second one for programs that link GnuTLS; many systems have only that.
constexpr const char* names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

void* open_library() {
  std::string reasons;
  for (const char* name : names) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    reasons += std::string(reasons.empty() ? "" : "; ") + dlerror();
  }
  throw UserError(ExitCode::data, "cannot open libcurl, which reads remote files: " + reasons,
                  "install it: libcurl4 in Debian and Ubuntu, libcurl in Fedora");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw UserError(ExitCode::data, std::string("this libcurl is too old: it lacks ") + name,
                    "install version 7.85 or newer");
}

LibCurl open_libcurl() {
  void* const library = open_library();
  LibCurl curl{};
  find(library, "curl_easy_init", curl.easy_init);
  find(library, "curl_easy_cleanup", curl.easy_cleanup);
  find(library, "curl_easy_reset", curl.easy_reset);
  find(library, "curl_easy_setopt", curl.easy_setopt);
  find(library, "curl_easy_getinfo", curl.easy_getinfo);
  find(library, "curl_easy_perform", curl.easy_perform);
  find(library, "curl_easy_strerror", curl.easy_strerror);
  find(library, "curl_easy_header", curl.easy_header);
  find(library, "curl_multi_init", curl.multi_init);
  find(library, "curl_multi_cleanup", curl.multi_cleanup);
  find(library, "curl_multi_setopt", curl.multi_setopt);
  find(library, "curl_multi_add_handle", curl.multi_add_handle);
  find(library, "curl_multi_remove_handle", curl.multi_remove_handle);
  find(library, "curl_multi_perform", curl.multi_perform);
  find(library, "curl_multi_poll", curl.multi_poll);
  find(library, "curl_multi_wakeup", curl.multi_wakeup);
  find(library, "curl_multi_info_read", curl.multi_info_read);
  find(library, "curl_slist_append", curl.slist_append);
  find(library, "curl_slist_free_all", curl.slist_free_all);

  decltype(&curl_global_init) global_init = nullptr;
  find(library, "curl_global_init", global_init);
  if (const CURLcode code = global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK)
    throw UserError(ExitCode::data, curl.easy_strerror(code));
  return curl;
}

}  // namespace

const LibCurl& libcurl() {
  static const LibCurl curl = open_libcurl();
  return curl;
}

}  // namespace flowtrain
