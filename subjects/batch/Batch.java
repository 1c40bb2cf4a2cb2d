// Windage's protocol of batch programs, in Java; docs/FORMAT.md has the rules. Java can't open a
// descriptor by its number, so a shell makes it standard input and output:
//   sh -c 'exec java Batch.java <&"$WINDAGE_CONTROL_FD" >&"$WINDAGE_CONTROL_FD"'
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

public class Batch {
  static volatile long sink;

  static void iteration() {
    for (int i = 0; i < 1000; i++) sink += (long) i * i;
  }

  static void flush() {}

  public static void main(String[] arguments) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("about java " + Runtime.version());
    System.out.println("ready flush");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      if (words[0].equals("run")) {
        for (int i = 0; i < Integer.parseInt(words[1]); i++) iteration();
        System.out.println("done " + words[1]);
      } else if (words[0].equals("flush")) {
        flush();
        System.out.println("flushed");
      }
    }
  }
}
