# What Debian's package manager installs (`make package`): `hourglass` is the
# program as a service, `hourglass-dev` the library. docs/operations.md says
# how they are used.
find_package(Python3 COMPONENTS Interpreter QUIET)
set(packaging ${PROJECT_SOURCE_DIR}/packaging)

# The manual page says what --help says, so the program must run for it.
if(TARGET hourglass AND Python3_FOUND)
  set(man_page ${CMAKE_BINARY_DIR}/hourglass.1)
  add_custom_command(OUTPUT ${man_page}.gz
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/make_man.py
      $<TARGET_FILE:hourglass> ${PROJECT_VERSION} > ${man_page}
    COMMAND gzip -9nf ${man_page}
    DEPENDS hourglass ${PROJECT_SOURCE_DIR}/tools/make_man.py
    VERBATIM)
  add_custom_target(man ALL DEPENDS ${man_page}.gz)
  install(FILES ${man_page}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT program)
endif()

# Only in the package: `make install` leaves the system's settings alone.
install(FILES ${packaging}/hourglass.service
  DESTINATION lib/systemd/system COMPONENT program EXCLUDE_FROM_ALL)
install(FILES ${packaging}/hourglass.toml
  DESTINATION /etc/hourglass COMPONENT program EXCLUDE_FROM_ALL)
install(FILES LICENSE RENAME copyright
  DESTINATION share/doc/hourglass COMPONENT program EXCLUDE_FROM_ALL)
install(FILES ${packaging}/grafana.json ${packaging}/alerts.yml
  docs/operations.md
  DESTINATION share/doc/hourglass COMPONENT program EXCLUDE_FROM_ALL)
install(FILES LICENSE RENAME copyright
  DESTINATION share/doc/hourglass-dev COMPONENT development EXCLUDE_FROM_ALL)

# Not all: the tests are not in the package.
set(CMAKE_SKIP_PACKAGE_ALL_DEPENDENCY ON)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hourglass)
set(CPACK_PACKAGE_VENDOR Hourglass)
set(CPACK_PACKAGE_CONTACT
  "The Hourglass developers <developers@hourglass.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME hourglass)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS adduser)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "broker for messages that must be delivered later
A durable delayed-message store that RocketMQ 5 clients talk to unchanged:
any delay, to the millisecond, with a recall that tells the truth.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA
  ${packaging}/debian/postinst ${packaging}/debian/prerm
  ${packaging}/debian/postrm ${packaging}/debian/conffiles)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME hourglass-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "librocksdb-dev, libxxhash-dev, libboost-filesystem-dev, libabsl-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "library of the Hourglass delayed-message store
Headers and static libraries, for programs that embed the store.")
include(CPack)
