# HOURGLASS_SANITIZE: "address,undefined" or "thread" (see CMakePresets.json).
if(NOT HOURGLASS_SANITIZE)
  return()
endif()

add_compile_options(-fsanitize=${HOURGLASS_SANITIZE} -fno-omit-frame-pointer)
if(HOURGLASS_FUZZ)
  # Coverage only; the targets themselves link the fuzzer's main.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
add_link_options(-fsanitize=${HOURGLASS_SANITIZE})
if(HOURGLASS_SANITIZE MATCHES undefined)
  # A finding must fail the test, not only be printed.
  add_compile_options(-fno-sanitize-recover=undefined)
endif()
