// The stand-in's daemon as its clients see it: a file that a living one has locked.
#pragma once

#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <unistd.h>

inline bool is_served(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY);
  if (file < 0)
    return false;
  const bool is_free = flock(file, LOCK_SH | LOCK_NB) == 0;
  close(file);
  return !is_free;
}

// Serves until it is ended, or until a client asks for its end.
inline int serve(const std::string& path) {
  const int file = open(path.c_str(), O_CREAT | O_RDWR, 0600);
  if (file < 0 || flock(file, LOCK_EX) != 0)
    return 1;
  const std::string end = path + ".end";
  while (unlink(end.c_str()) != 0)
    usleep(1000);
  return 9;
}
