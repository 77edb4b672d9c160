# Script: writes HEADER with the git revision of SOURCE; "unknown" without git, or if SOURCE is not the top of a
# checkout (an unpacked archive inside of another project's checkout is not ours).
set(revision unknown)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-cdup OUTPUT_VARIABLE up ERROR_QUIET
                  RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND up STREQUAL "")
    execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                    OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT failed AND found)
      set(revision ${found})
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${HEADER} @ONLY CONTENT [[
#pragma once

namespace flowtrain::build_info {
inline constexpr const char* revision = "@revision@";
}  // namespace flowtrain::build_info
]])
