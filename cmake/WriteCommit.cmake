# Writes the commit that is being built into a header, if it is another than
# the last time: cmake -DOUT=commit.h -P WriteCommit.cmake, in the source tree.
execute_process(COMMAND git describe --always --dirty --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
  RESULT_VARIABLE failed)
if(failed OR commit STREQUAL "")
  set(commit unknown)
endif()
set(text "#define HOURGLASS_COMMIT \"${commit}\"\n")
if(EXISTS "${OUT}")
  file(READ "${OUT}" before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE "${OUT}" "${text}")
endif()
