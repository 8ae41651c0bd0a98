# HOURGLASS_SANITIZE: "address,undefined" or "thread" (see CMakePresets.json).
if(NOT HOURGLASS_SANITIZE)
  return()
endif()

add_compile_options(-fsanitize=${HOURGLASS_SANITIZE} -fno-omit-frame-pointer)
add_link_options(-fsanitize=${HOURGLASS_SANITIZE})
if(HOURGLASS_SANITIZE MATCHES undefined)
  # A finding must fail the test, not only be printed.
  add_compile_options(-fno-sanitize-recover=undefined)
endif()

if(HOURGLASS_SANITIZE STREQUAL "thread")
  # Debian's Abseil is not built with ThreadSanitizer, which therefore does
  # not see its locks. Every call of one goes through a wrapper that tells it.
  add_library(hg_tsan_locks STATIC
    ${CMAKE_SOURCE_DIR}/tests/tsan/absl_locks.cc)
  target_link_libraries(hg_tsan_locks PRIVATE absl::synchronization)
  file(READ ${CMAKE_SOURCE_DIR}/tests/tsan/absl_locks.cc wrappers)
  string(REGEX MATCHALL "__real_[A-Za-z0-9_]+" wrapped "${wrappers}")
  list(TRANSFORM wrapped REPLACE "^__real_" "LINKER:--wrap=")
  add_link_options(${wrapped})
  # Of every target made from here on.
  link_libraries(hg_tsan_locks)
endif()
