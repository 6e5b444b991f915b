/* unistd.h - for reader/. */
#pragma once
int ftruncate(int fd, long len_bytes); /* in no code that is kept */
